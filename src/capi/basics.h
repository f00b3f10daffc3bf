// Buffers, and structs of the ABI in the terms of the engine.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "capi/handles.h"
#include "engine/activity.h"
#include "pawl.h"

namespace pawl::capi {

using BufferHandles = SharedHandles<std::string, HandleKind::kBuffer, pawl_buffer>;
BufferHandles& buffers();
// To the caller, who frees it.
void give(std::string text, pawl_buffer* buffer);

// Null: one attempt.
Result<engine::RetryPolicy> read_retry(const pawl_retry* retry);
Result<engine::Failure> read_failure(const pawl_failure* failure);
// Of a JSON object.
Result<std::vector<std::pair<std::string, std::string>>> read_tags(pawl_bytes tags);

}  // namespace pawl::capi
