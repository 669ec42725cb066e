// Convolutions with few channels, float32, on one core: fedkin/runtime/small_conv.py says where.
// The numbers of WIDTH pictures at one place make one vector, so that no channel count leaves lanes unused.

#pragma GCC push_options
#pragma GCC optimize("O3", "fp-contract=fast")
#pragma clang fp contract(fast)

#if defined(__AVX512F__)
constexpr int BROAD = 4, LONG = 5;  // channels and places of one block, of 32 registers
#else
constexpr int BROAD = 2, LONG = 4;  // of 16
#endif

namespace {

struct Planes {
    int64_t channels, rows, columns;

    int64_t size() const { return channels * rows * columns; }
};

struct Room {  // memory for packed planes, as it comes
    std::unique_ptr<float[]> all;
    Room(const Planes& of) : all(new float[of.size() * WIDTH]) {}
    float* at() const { return all.get(); }
};

struct Weights {  // one kernel a pair of channels, read in whatever order
    const float* at;
    int64_t out, in, row, column;  // the steps from each to the next
    int64_t tall, wide;
};

// Calls run with count as a constant, which is at most MOST.
template <int MOST, typename Run>
void with_constant(int64_t count, const Run& run) {
    if constexpr (MOST > 0) {
        if (count == MOST)
            run(std::integral_constant<int, MOST>{});
        else
            with_constant<MOST - 1>(count, run);
    }
}

// Calls run(size, start) for parts of count, nearly equal and at most MOST each.
template <int MOST, typename Run>
void in_parts(int64_t count, const Run& run) {
    for (int64_t start = 0, parts = (count + MOST - 1) / MOST; parts > 0; parts--) {
        int64_t size = (count - start + parts - 1) / parts;
        with_constant<MOST>(size, [&](auto constant) { run(constant, start); });
        start += size;
    }
}

// Pictures that lie one after the other, to places that hold one number of each; `side` columns of zeros on both sides.
void pack(const float* from, int64_t pictures, const Planes& of, int64_t side, float* to) {
    int64_t wide = of.columns + 2 * side;
    if (side || pictures < WIDTH) __builtin_memset(to, 0, of.channels * of.rows * wide * WIDTH * sizeof(float));
    for (int64_t row = 0; row < of.channels * of.rows; row++)
        for (int64_t picture = 0; picture < pictures; picture++)
            for (int64_t k = 0; k < of.columns; k++)
                to[(row * wide + side + k) * WIDTH + picture] = from[picture * of.size() + row * of.columns + k];
}

void unpack(const float* from, int64_t pictures, const Planes& of, float* to) {
    constexpr int64_t STEP = 16;  // places of all pictures, which stay in the nearest memory
    for (int64_t start = 0; start < of.size(); start += STEP)
        for (int64_t picture = 0; picture < pictures; picture++)
            for (int64_t k = start; k < std::min(of.size(), start + STEP); k++)
                to[picture * of.size() + k] = from[k * WIDTH + picture];
}

// CHANNELS x PLACES of the result, in row y from column left on. x has `above` fewer rows on top and below than it says.
template <int CHANNELS, int PLACES>
void block(const float* x, const Planes& in, int64_t above, const Weights& w, const float* bias, float* out,
           const Planes& of, int64_t y, int64_t left) {
    Vector sum[CHANNELS][PLACES];
    for (int o = 0; o < CHANNELS; o++)
        for (int p = 0; p < PLACES; p++) sum[o][p] = Vector{} + (bias ? bias[o] : 0);
    int64_t first = std::max<int64_t>(0, above - y), last = std::min(w.tall, in.rows + above - y);
    for (int64_t i = 0; i < in.channels; i++)
        for (int64_t r = first; r < last; r++) {
            const float* row = x + ((i * in.rows + y + r - above) * in.columns + left) * WIDTH;
            const float* kernel = w.at + i * w.in + r * w.row;
            for (int64_t k = 0; k < w.wide; k++) {
                Vector passing[PLACES];
                for (int p = 0; p < PLACES; p++) passing[p] = load(row + (k + p) * WIDTH);
                for (int o = 0; o < CHANNELS; o++)
                    for (int p = 0; p < PLACES; p++) sum[o][p] += kernel[o * w.out + k * w.column] * passing[p];
            }
        }
    for (int o = 0; o < CHANNELS; o++)
        for (int p = 0; p < PLACES; p++) store(out + ((o * of.rows + y) * of.columns + left + p) * WIDTH, sum[o][p]);
}

void convolve(const float* x, const Planes& in, int64_t above, Weights w, const float* bias, float* out,
              const Planes& of) {
    in_parts<BROAD>(of.channels, [&](auto channels, int64_t o) {
        Weights own = w;
        own.at += o * w.out;
        for (int64_t y = 0; y < of.rows; y++)
            in_parts<LONG>(of.columns, [&](auto places, int64_t left) {
                block<channels, places>(x, in, above, own, bias ? bias + o : nullptr,
                                        out + o * of.rows * of.columns * WIDTH, of, y, left);
            });
    });
}

inline float total(const Vector& sum) {
    float whole = 0;
    for (int lane = 0; lane < WIDTH; lane++) whole += sum[lane];
    return whole;
}

// Adds what WIDTH pictures say to CHANNELS x TAPS weights of one input channel and one row of its kernels.
template <int CHANNELS, int TAPS>
void weights_block(const float* x, const Planes& in, const float* slope, const Planes& of, int64_t side, float* out,
                   int64_t step) {
    Vector sum[CHANNELS][TAPS] = {};
    for (int64_t y = 0; y < of.rows; y++)
        for (int64_t k = 0; k < of.columns - 2 * side; k++) {
            Vector passing[TAPS];
            for (int t = 0; t < TAPS; t++) passing[t] = load(x + (y * in.columns + k + t) * WIDTH);
            for (int o = 0; o < CHANNELS; o++) {
                Vector here = load(slope + ((o * of.rows + y) * of.columns + side + k) * WIDTH);
                for (int t = 0; t < TAPS; t++) sum[o][t] += here * passing[t];
            }
        }
    for (int o = 0; o < CHANNELS; o++)
        for (int t = 0; t < TAPS; t++) out[o * step + t] += total(sum[o][t]);
}

// Adds what WIDTH pictures say to all weights and biases. Slopes have `side` columns of zeros on both sides.
void add_slopes(const float* x, const Planes& in, const float* slope, const Planes& of, int64_t side, const Weights& w,
                float* out, float* bias) {
    int64_t plane = of.rows * of.columns * WIDTH;
    for (int64_t o = 0; o < of.channels; o++) {
        Vector sum = {};
        for (int64_t k = 0; k < plane; k += WIDTH) sum += load(slope + o * plane + k);
        bias[o] += total(sum);
    }
    in_parts<BROAD>(of.channels, [&](auto channels, int64_t o) {
        for (int64_t i = 0; i < in.channels; i++)
            for (int64_t r = 0; r < w.tall; r++)
                in_parts<LONG>(w.wide, [&](auto taps, int64_t k) {
                    weights_block<channels, taps>(x + ((i * in.rows + r) * in.columns + k) * WIDTH, in,
                                                  slope + o * plane, of, side,
                                                  out + o * w.out + i * w.in + r * w.row + k, w.out);
                });
    });
}

Planes planes(AtenTensorHandle x) { return {sizes(x)[1], sizes(x)[2], sizes(x)[3]}; }

Weights weights(AtenTensorHandle w) {
    int64_t tall = sizes(w)[2], wide = sizes(w)[3], kernel = tall * wide;
    return {data<float>(w), sizes(w)[1] * kernel, kernel, wide, 1, tall, wide};
}

AOTITorchError small_conv(AtenTensorHandle x, AtenTensorHandle w, AtenTensorHandle bias, AtenTensorHandle* made) {
    Planes in = planes(x);
    Weights kernels = weights(w);
    Planes of = {sizes(w)[0], in.rows - kernels.tall + 1, in.columns - kernels.wide + 1};
    int64_t count = sizes(x)[0], whole[4] = {count, of.channels, of.rows, of.columns};
    Room packed(in), result(of);
    if (AOTITorchError error = empty(4, whole, aoti_torch_dtype_float32(), made)) return error;
    for (int64_t n = 0; n < count; n += WIDTH) {
        int64_t pictures = std::min<int64_t>(WIDTH, count - n);
        pack(data<float>(x) + n * in.size(), pictures, in, 0, packed.at());
        convolve(packed.at(), in, 0, kernels, data<float>(bias), result.at(), of);
        unpack(result.at(), pictures, of, data<float>(*made) + n * of.size());
    }
    return 0;
}

// Gradients by the weights and the bias, and by x where it is asked for.
AOTITorchError small_conv_back(AtenTensorHandle slope, AtenTensorHandle x, AtenTensorHandle w, AtenTensorHandle* by_x,
                               AtenTensorHandle* by_w, AtenTensorHandle* by_bias) {
    Planes in = planes(x), of = planes(slope);
    Weights kernels = weights(w), turned = {kernels.at + kernels.in - 1, kernels.in, kernels.out, -kernels.row, -1,
                                            kernels.tall, kernels.wide};
    int64_t count = sizes(x)[0], side = by_x ? kernels.wide - 1 : 0;
    Planes wider = {of.channels, of.rows, of.columns + 2 * side};
    Room packed(in), slopes(wider);
    if (by_x)
        if (AOTITorchError error = empty(4, sizes(x), aoti_torch_dtype_float32(), by_x)) return error;
    if (AOTITorchError error = empty(4, sizes(w), aoti_torch_dtype_float32(), by_w)) return error;
    if (AOTITorchError error = empty(1, sizes(w), aoti_torch_dtype_float32(), by_bias)) return error;
    __builtin_memset(data<float>(*by_w), 0, sizes(w)[0] * kernels.out * sizeof(float));
    __builtin_memset(data<float>(*by_bias), 0, sizes(w)[0] * sizeof(float));
    for (int64_t n = 0; n < count; n += WIDTH) {
        int64_t pictures = std::min<int64_t>(WIDTH, count - n);
        pack(data<float>(x) + n * in.size(), pictures, in, 0, packed.at());
        pack(data<float>(slope) + n * of.size(), pictures, of, side, slopes.at());
        add_slopes(packed.at(), in, slopes.at(), wider, side, kernels, data<float>(*by_w), data<float>(*by_bias));
        if (!by_x) continue;
        convolve(slopes.at(), wider, kernels.tall - 1, turned, nullptr, packed.at(), in);
        unpack(packed.at(), pictures, in, data<float>(*by_x) + n * in.size());
    }
    return 0;
}

AOTITorchError small_conv_weights(AtenTensorHandle slope, AtenTensorHandle x, AtenTensorHandle w, AtenTensorHandle* by_w,
                                  AtenTensorHandle* by_bias) {
    return small_conv_back(slope, x, w, nullptr, by_w, by_bias);
}

}  // namespace

#pragma GCC pop_options
