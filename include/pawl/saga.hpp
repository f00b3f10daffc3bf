// Saga: compensations. When the workflow fails or is cancelled, those that were added run, last in
// first out, without the workflow's code: each is an activity of the registry with its own input.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "pawl/context.hpp"

namespace pawl {

class Saga {
 public:
  explicit Saga(Context ctx) : ctx_(std::move(ctx)) {}

  // Recorded at once; awaiting it never blocks.
  template <class In>
    requires(!std::is_same_v<std::decay_t<In>, StateOptions>)
  detail::Done add(detail::Name activity, const In& input, const StateOptions& options = {}) {
    const auto where = [&] { return "input of compensation '" + std::string(activity.text) + "'"; };
    ctx_.compensate(activity, detail::encode(detail::Kept<In>(input), where), options);
    return {};
  }
  detail::Done add(detail::Name activity, const StateOptions& options = {}) {
    ctx_.compensate(activity, "null", options);
    return {};
  }

 private:
  Context ctx_;
};

}  // namespace pawl
