// The attributes of a signal's event as they are kept: what the log has as `extra`, and by what the
// store tells that it was sent before.
#pragma once

#include <string>
#include <string_view>

#include "pawl/event.hpp"

namespace pawl::detail {

// An event without attributes is empty. The members are those of SignalReceived in
// docs/formats/scenario.md. Throws UsageError; `signal` is the signal's name.
std::string encode_event(std::string_view signal, const Event& event);
// What cannot be read is left out.
Event decode_event(std::string_view extra);

// Empty: may be sent as often as one likes.
std::string dedupe_text(const Event& event);

}  // namespace pawl::detail
