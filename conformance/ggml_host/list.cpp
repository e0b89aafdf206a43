// Every case of llama.cpp's test-backend-ops, a line each: operation, parameters, and whether both back ends can run it.
// The suite has no such list: its `support` leaves out the cases of several operations that are run as one graph.
#define main test_backend_ops_main
#include "test-backend-ops.cpp"
#undef main

static bool supported(ggml_context * ctx, ggml_context * weights, ggml_backend_t backend) {
    for (ggml_context * held : { ctx, weights }) {
        for (ggml_tensor * t = ggml_get_first_tensor(held); t != nullptr; t = ggml_get_next_tensor(held, t)) {
            if (!ggml_backend_supports_op(backend, t)) {
                return false;
            }
        }
    }
    return true;
}

int main(int argc, char ** argv) {
    ggml_backend_load_all();
    ggml_backend_dev_t device = ggml_backend_dev_by_name(argc > 1 ? argv[1] : "MTL0");
    if (device == nullptr) {
        fprintf(stderr, "no such device\n");
        return 1;
    }
    ggml_backend_ptr metal(ggml_backend_dev_init(device, nullptr));
    ggml_backend_ptr cpu(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
    for (auto & test : make_test_cases_eval()) {
        ggml_init_params params = { ggml_tensor_overhead() * 128 + ggml_graph_overhead(), nullptr, true };
        ggml_context_ptr ctx(ggml_init(params)), weights(ggml_init(params));
        test->mode = MODE_SUPPORT;
        test->gf = ggml_new_graph(ctx.get());
        ggml_tensor * out = test->build_graph(ctx.get(), weights.get());
        const bool both = supported(ctx.get(), weights.get(), metal.get()) && supported(ctx.get(), weights.get(), cpu.get());
        printf("case\t%s\t%s\t%d\n", test->op_desc(out).c_str(), test->vars().c_str(), both);
    }
    return 0;
}
