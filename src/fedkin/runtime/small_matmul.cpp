// Products of small float32 matrices on one core: fedkin/runtime/small_matmul.py says where.
// Nothing is packed or copied: a block of the result stays in registers while the factors pass by.

#pragma GCC push_options
#pragma GCC optimize("O3", "fp-contract=fast")
#pragma clang fp contract(fast)

#if defined(__AVX512F__)
constexpr int DEEP = 4, SIDE = 5;  // of 32 registers
#else
constexpr int DEEP = 2, SIDE = 3;  // of 16
#endif
constexpr int TALL = 5;

namespace {

struct Matrix {
    float* at;
    int64_t rows, columns, down, right;  // the steps from a row, and from a column, to the next one
};

// out = w - a b (or a b without w) in ROWS x COLUMNS vectors, where a row of b lies side by side.
template <int ROWS, int COLUMNS>
void outer_block(const Matrix& out, const Matrix* w, const Matrix& a, const Matrix& b, int64_t row, int64_t column) {
    Vector sum[ROWS][COLUMNS] = {};
    const float *left = a.at + row * a.down, *right = b.at + column;
    for (int64_t k = 0; k < b.rows; k++, left += a.right, right += b.down) {
        Vector passing[COLUMNS];
        for (int c = 0; c < COLUMNS; c++) passing[c] = load(right + c * WIDTH);
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLUMNS; c++) sum[r][c] += left[r * a.down] * passing[c];
    }
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) {
            int64_t there = column + c * WIDTH;
            Vector made = w ? load(w->at + (row + r) * w->down + there) - sum[r][c] : sum[r][c];
            store(out.at + (row + r) * out.down + there, made);
        }
}

template <int COLUMNS>
int64_t outer_columns(const Matrix& out, const Matrix* w, const Matrix& a, const Matrix& b, int64_t column) {
    for (; column + COLUMNS * WIDTH <= b.columns; column += COLUMNS * WIDTH) {
        int64_t row = 0;
        for (; row + TALL <= a.rows; row += TALL) outer_block<TALL, COLUMNS>(out, w, a, b, row, column);
        for (; row < a.rows; row++) outer_block<1, COLUMNS>(out, w, a, b, row, column);
    }
    return column;
}

void outer(const Matrix& out, const Matrix* w, const Matrix& a, const Matrix& b) {
    int64_t done = outer_columns<1>(out, w, a, b, outer_columns<DEEP>(out, w, a, b, 0));
    for (int64_t row = 0; row < a.rows; row++)
        for (int64_t column = done; column < b.columns; column++) {
            float sum = 0;
            for (int64_t k = 0; k < b.rows; k++)
                sum += a.at[row * a.down + k * a.right] * b.at[k * b.down + column];
            out.at[row * out.down + column] = w ? w->at[row * w->down + column] - sum : sum;
        }
}

// The same in ROWS x COLUMNS numbers, where a row of a and a column of b lie side by side.
template <int ROWS, int COLUMNS>
void inner_block(const Matrix& out, const Matrix* w, const Matrix& a, const Matrix& b, int64_t row, int64_t column) {
    Vector sum[ROWS][COLUMNS] = {};
    int64_t k = 0;
    for (; k + WIDTH <= a.columns; k += WIDTH) {
        Vector passing[COLUMNS];
        for (int c = 0; c < COLUMNS; c++) passing[c] = load(b.at + (column + c) * b.right + k);
        for (int r = 0; r < ROWS; r++) {
            Vector left = load(a.at + (row + r) * a.down + k);
            for (int c = 0; c < COLUMNS; c++) sum[r][c] += left * passing[c];
        }
    }
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) {
            float whole = 0;
            for (int lane = 0; lane < WIDTH; lane++) whole += sum[r][c][lane];
            for (int64_t j = k; j < a.columns; j++)
                whole += a.at[(row + r) * a.down + j] * b.at[(column + c) * b.right + j];
            float* to = out.at + (row + r) * out.down + column + c;
            *to = w ? w->at[(row + r) * w->down + column + c] - whole : whole;
        }
}

template <int ROWS>
void inner_rows(const Matrix& out, const Matrix* w, const Matrix& a, const Matrix& b, int64_t row) {
    int64_t column = 0;
    for (; column + SIDE <= b.columns; column += SIDE) inner_block<ROWS, SIDE>(out, w, a, b, row, column);
    for (; column < b.columns; column++) inner_block<ROWS, 1>(out, w, a, b, row, column);
}

void inner(const Matrix& out, const Matrix* w, const Matrix& a, const Matrix& b) {
    int64_t row = 0;
    for (; row + SIDE <= a.rows; row += SIDE) inner_rows<SIDE>(out, w, a, b, row);
    for (; row < a.rows; row++) inner_rows<1>(out, w, a, b, row);
}

Matrix matrix(AtenTensorHandle tensor, int64_t number) {
    int64_t axes, *of = sizes(tensor), *steps;
    aoti_torch_get_dim(tensor, &axes);
    aoti_torch_get_strides(tensor, &steps);
    float* first = data<float>(tensor) + (axes == 3 ? number * steps[0] : 0);
    return {first, of[axes - 2], of[axes - 1], steps[axes - 2], steps[axes - 1]};
}

// w may be nothing. With three axes each is a stack of as many matrices.
AOTITorchError product(AtenTensorHandle w, AtenTensorHandle a, AtenTensorHandle b, AtenTensorHandle* made) {
    int64_t axes, *of_a = sizes(a), *of_b = sizes(b);
    aoti_torch_get_dim(a, &axes);
    int64_t count = axes == 3 ? of_a[0] : 1, of[3] = {count, of_a[axes - 2], of_b[axes - 1]};
    if (AOTITorchError error = empty(axes, of + 3 - axes, aoti_torch_dtype_float32(), made)) return error;
    for (int64_t number = 0; number < count; number++) {
        Matrix from, *less = nullptr, left = matrix(a, number), right = matrix(b, number);
        if (w) from = matrix(w, number), less = &from;
        bool beside = right.right == 1 || right.columns == 1;  // the step along an axis of one may be anything
        (beside ? outer : inner)(matrix(*made, number), less, left, right);
    }
    return 0;
}

AOTITorchError small_product(AtenTensorHandle a, AtenTensorHandle b, AtenTensorHandle* made) {
    return product(nullptr, a, b, made);
}

AOTITorchError small_update(AtenTensorHandle w, AtenTensorHandle a, AtenTensorHandle b, AtenTensorHandle* made) {
    return product(w, a, b, made);
}

}  // namespace

#pragma GCC pop_options
