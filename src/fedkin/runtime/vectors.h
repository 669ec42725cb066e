// What fedkin's own operators have in common: vectors of this CPU's width. fedkin/runtime/operators.py puts them before the rest.

#include <algorithm>
#include <memory>
#include <type_traits>

#pragma GCC push_options
#pragma GCC optimize("O3", "fp-contract=fast")
#pragma clang fp contract(fast)

#if defined(__AVX512F__)
constexpr int WIDTH = 16;
#elif defined(__AVX__)
constexpr int WIDTH = 8;
#else
constexpr int WIDTH = 4;
#endif

namespace {

typedef float Vector __attribute__((vector_size(WIDTH * sizeof(float))));

inline Vector load(const float* from) {
    Vector values;
    __builtin_memcpy(&values, from, sizeof values);  // from any address
    return values;
}

inline void store(float* to, const Vector& values) { __builtin_memcpy(to, &values, sizeof values); }

template <typename Number>
Number* data(AtenTensorHandle tensor) {
    void* at;
    aoti_torch_get_data_ptr(tensor, &at);
    return (Number*)at;
}

int64_t* sizes(AtenTensorHandle tensor) {
    int64_t* found;
    aoti_torch_get_sizes(tensor, &found);
    return found;
}

// A new tensor whose last axis lies side by side.
AOTITorchError empty(int64_t axes, const int64_t* sizes, int32_t dtype, AtenTensorHandle* made) {
    int64_t steps[8], step = 1;
    for (int64_t axis = axes - 1; axis >= 0; step *= sizes[axis--]) steps[axis] = step;
    return aoti_torch_empty_strided(axes, sizes, steps, dtype, aoti_torch_device_type_cpu(), 0, made);
}

}  // namespace

#pragma GCC pop_options
