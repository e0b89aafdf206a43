#pragma once
#include <metal_tensor>
namespace mpp { namespace tensor_ops { using namespace metal::__tensors; } }
