// The answers of a program that `pawl check` has started: one line of JSON for each run that it is
// asked about. docs/checking.md has the lines.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "pawl/options.hpp"
#include "pawl/registry.hpp"
#include "sdk/codec_store.h"

namespace pawl::detail {

inline constexpr std::string_view kCheckProtocol = "pawl-check/1";
// Of the environment: "3,4", the descriptors to read requests from and to write answers to.
inline constexpr const char* kCheckVariable = "PAWL_CHECK";

class CheckAnswerer {
 public:
  // The registry must outlive it. Throws UsageError for a payload codec with an impossible name.
  CheckAnswerer(const Registry& registry, const EngineOptions& options);

  // What this program has. Comes first.
  std::string hello() const;
  // Lines have no line break in them. Before changes to the code are tried, which may take a while,
  // `early` gets what is known by then.
  using Early = std::function<void(const std::string& line)>;
  std::string answer(std::string_view request, const Early& early = {}) const;

 private:
  const Registry& registry_;
  PayloadCodecs codecs_;
  std::size_t payload_bytes_max_;
};

}  // namespace pawl::detail
