// Vector add with metal-cpp: a library from source, shared buffers, a completion handler.
//     metalloid c++ -std=c++17 -I metal-cpp examples/framework/vector_add.cpp -o vector_add && ./vector_add
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <Metal/Metal.hpp>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>

static const char *SOURCE = R"(
#include <metal_stdlib>
using namespace metal;

kernel void add(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
                device float *out [[buffer(2)]], constant uint &count [[buffer(3)]],
                uint i [[thread_position_in_grid]]) {
    if (i < count)
        out[i] = a[i] + b[i];
}
)";

int main(int argc, char **argv) {
    const uint32_t count = argc > 1 ? (uint32_t)atoi(argv[1]) : 1u << 20;
    NS::AutoreleasePool *pool = NS::AutoreleasePool::alloc()->init();
    MTL::Device *device = MTL::CreateSystemDefaultDevice();
    if (!device)
        return 1;

    NS::Error *error = nullptr;
    MTL::Library *library = device->newLibrary(NS::String::string(SOURCE, NS::UTF8StringEncoding), nullptr, &error);
    if (!library) {
        fprintf(stderr, "%s\n", error->localizedDescription()->utf8String());
        return 1;
    }
    MTL::Function *function = library->newFunction(NS::String::string("add", NS::UTF8StringEncoding));
    MTL::ComputePipelineState *pipeline = device->newComputePipelineState(function, &error);

    MTL::Buffer *a = device->newBuffer(count * sizeof(float), MTL::ResourceStorageModeShared);
    MTL::Buffer *b = device->newBuffer(count * sizeof(float), MTL::ResourceStorageModeShared);
    MTL::Buffer *out = device->newBuffer(count * sizeof(float), MTL::ResourceStorageModeShared);
    for (uint32_t i = 0; i < count; i++) {
        static_cast<float *>(a->contents())[i] = (float)i;
        static_cast<float *>(b->contents())[i] = 0.5f;
        static_cast<float *>(out->contents())[i] = -1.0f;
    }

    MTL::CommandQueue *queue = device->newCommandQueue();
    MTL::CommandBuffer *commands = queue->commandBuffer();
    MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(pipeline);
    encoder->setBuffer(a, 0, 0);
    encoder->setBuffer(b, 0, 1);
    encoder->setBuffer(out, 0, 2);
    encoder->setBytes(&count, sizeof count, 3);
    encoder->dispatchThreads(MTL::Size(count, 1, 1), MTL::Size(256, 1, 1));
    encoder->endEncoding();

    std::mutex lock;
    std::condition_variable changed;
    bool done = false;
    commands->addCompletedHandler([&](MTL::CommandBuffer *finished) {
        std::lock_guard<std::mutex> held(lock);
        done = finished->status() == MTL::CommandBufferStatusCompleted;
        changed.notify_all();
    });
    commands->commit();
    commands->waitUntilCompleted();
    std::unique_lock<std::mutex> held(lock);
    changed.wait(held, [&] { return done; });

    uint32_t wrong = 0;
    for (uint32_t i = 0; i < count; i++)
        wrong += static_cast<float *>(out->contents())[i] != (float)i + 0.5f;
    printf("%s: %u sums, %u wrong; the handler was called\n", device->name()->utf8String(), count, wrong);

    for (NS::Object *object : {(NS::Object *)a, (NS::Object *)b, (NS::Object *)out, (NS::Object *)pipeline,
                               (NS::Object *)function, (NS::Object *)library, (NS::Object *)queue, (NS::Object *)device})
        object->release();
    pool->release();
    return wrong != 0;
}
