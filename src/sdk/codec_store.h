// CodecStore: a store whose payloads pass through the user's payload codecs on their way in and
// out. Everything above it, the replay core too, sees them plain; so digests of inputs are of what
// was meant, however the codec encrypts. docs/formats/payload.md has the bytes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/options.hpp"
#include "store/store.h"

namespace pawl::detail {

// The codecs of an engine. Thread-safe if the codecs are.
class PayloadCodecs {
 public:
  // `writer` may be null: then payloads are written as they are. Throws UsageError for a codec with
  // an impossible name.
  PayloadCodecs(std::shared_ptr<const PayloadCodec> writer,
                std::vector<std::shared_ptr<const PayloadCodec>> readers);

  bool writes() const { return writer_ != nullptr; }
  // An empty payload stays empty.
  Result<std::string> encode(std::string_view payload) const;
  // What no codec has written stays as it is. kStoreUnusable: the codec is unknown or failed.
  Result<void> decode(std::string& payload) const;
  Result<std::string> decoded(std::string_view payload) const;
  static bool is_encoded(std::string_view payload);

 private:
  std::shared_ptr<const PayloadCodec> writer_;
  std::vector<std::shared_ptr<const PayloadCodec>> readers_;  // With the writer.
};

// `on_commit` (or none) is told of each turn that was committed.
std::unique_ptr<store::Store> make_codec_store(
    std::shared_ptr<store::Store> inner, PayloadCodecs codecs,
    std::function<void(const store::CommitTurn&)> on_commit = {});

}  // namespace pawl::detail
