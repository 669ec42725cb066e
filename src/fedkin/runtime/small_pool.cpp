// The largest of each 2 x 2 numbers of float32 planes on one core: fedkin/runtime/small_pool.py says where.

#pragma GCC push_options
#pragma GCC optimize("O3")

namespace {

typedef int32_t Places __attribute__((vector_size(WIDTH * sizeof(int32_t))));
typedef uint8_t Bytes __attribute__((vector_size(WIDTH)));

struct Pooled {
    int64_t planes, rows, columns, tall, wide;  // of what is pooled, and of what comes out

    // like: what is pooled, or what comes out; its first axes count the planes.
    Pooled(AtenTensorHandle like, int64_t rows, int64_t columns)
        : planes(1), rows(rows), columns(columns), tall(rows / 2), wide(columns / 2) {
        int64_t axes;
        aoti_torch_get_dim(like, &axes);
        for (int64_t axis = 0; axis < axes - 2; axis++) planes *= sizes(like)[axis];
    }

    // Where the two rows begin that become a row of the result.
    int64_t upper(int64_t row) const { return (row / tall * rows + row % tall * 2) * columns; }
};

// A tensor with the first axes of like, and these last two.
AOTITorchError with_planes_of(
    AtenTensorHandle like, int64_t rows, int64_t columns, int32_t dtype, AtenTensorHandle* made) {
    int64_t axes, of[8];
    aoti_torch_get_dim(like, &axes);
    for (int64_t axis = 0; axis < axes - 2; axis++) of[axis] = sizes(like)[axis];
    of[axes - 2] = rows, of[axes - 1] = columns;
    return empty(axes, of, dtype, made);
}

// Of the next 2 x count numbers, the first and the second of each two.
inline __attribute__((always_inline)) void by_two(const float* from, int64_t count, Vector& first, Vector& second) {
    float here[2 * WIDTH];
    if (count == WIDTH)
        __builtin_memcpy(here, from, sizeof here);
    else
        for (int64_t k = 0; k < 2 * WIDTH; k++) here[k] = k < 2 * count ? from[k] : 0;
    for (int k = 0; k < WIDTH; k++) first[k] = here[2 * k], second[k] = here[2 * k + 1];
}

// As torch: of equal numbers the first one, and what is not a number stays.
inline void larger(Vector& most, Places& at, const Vector& other, int32_t place) {
    Places taken = (other > most) | (other != other);
    most = taken ? other : most;
    at = (at & ~taken) | (taken & place);
}

// place: which of its four numbers each one is, row by row.
void pool(const float* x, float* out, uint8_t* place, const Pooled& of) {
    for (int64_t row = 0; row < of.planes * of.tall; row++, out += of.wide, place += of.wide) {
        const float* upper = x + of.upper(row);
        for (int64_t k = 0; k < of.wide; k += WIDTH) {
            int64_t count = std::min<int64_t>(WIDTH, of.wide - k);
            Vector most, second, third, fourth;
            by_two(upper + 2 * k, count, most, second);
            by_two(upper + of.columns + 2 * k, count, third, fourth);
            Places at = {};
            larger(most, at, second, 1);
            larger(most, at, third, 2);
            larger(most, at, fourth, 3);
            Bytes small = __builtin_convertvector(at, Bytes);
            __builtin_memcpy(out + k, &most, count * sizeof(float));
            __builtin_memcpy(place + k, &small, count);
        }
    }
}

void pool_back(const float* slope, const uint8_t* place, float* out, const Pooled& of) {
    __builtin_memset(out, 0, of.planes * of.rows * of.columns * sizeof(float));
    for (int64_t row = 0; row < of.planes * of.tall; row++, slope += of.wide, place += of.wide) {
        float* upper = out + of.upper(row);
        for (int64_t k = 0; k < of.wide; k++)
            upper[2 * k + (place[k] >> 1) * of.columns + (place[k] & 1)] = slope[k];
    }
}

AOTITorchError small_pool(AtenTensorHandle x, AtenTensorHandle* out, AtenTensorHandle* place) {
    int64_t axes;
    aoti_torch_get_dim(x, &axes);
    Pooled of(x, sizes(x)[axes - 2], sizes(x)[axes - 1]);
    if (AOTITorchError error = with_planes_of(x, of.tall, of.wide, aoti_torch_dtype_float32(), out)) return error;
    if (AOTITorchError error = with_planes_of(x, of.tall, of.wide, aoti_torch_dtype_uint8(), place)) return error;
    pool(data<float>(x), data<float>(*out), data<uint8_t>(*place), of);
    return 0;
}

AOTITorchError small_pool_back(
    AtenTensorHandle slope, AtenTensorHandle place, int64_t rows, int64_t columns, AtenTensorHandle* out) {
    if (AOTITorchError error = with_planes_of(slope, rows, columns, aoti_torch_dtype_float32(), out)) return error;
    pool_back(data<float>(slope), data<uint8_t>(place), data<float>(*out), Pooled(slope, rows, columns));
    return 0;
}

}  // namespace

#pragma GCC pop_options
