// From functions that return text and throw to bodies for the engine, which does not.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "engine/program.h"
#include "pawl/activity.hpp"
#include "pawl/detail/run.hpp"

namespace pawl::detail {

// What is known about an operation by its call.
struct OperationCall {
  std::string name;
  std::string input;
};

engine::ActivityBody activity_body(ActivityFunction function, std::size_t payload_bytes_max,
                                   std::optional<OperationCall> call = std::nullopt);
engine::RunHost::TransactBody transact_body(std::string name,
                                            std::function<std::string(Transaction&)> function,
                                            std::size_t payload_bytes_max);

engine::RetryPolicy policy_of(const Retry& retry);

// How the exception that is being handled is recorded.
engine::Failure current_failure();

}  // namespace pawl::detail
