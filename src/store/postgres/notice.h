// Notice: what stores tell each other by NOTIFY. Value type; borrows its texts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pawl::store::pg {

struct Notice {
  std::string_view channel;  // 1 to kChannelBytesMax bytes.
  std::string_view sender;   // An id without spaces.
  std::string_view text;

  // What is sent: the sender, then the text. With the channel at most kNoticeBytesMax.
  std::string payload() const;
};

// The text of a notice that runs have ended, and nothing else that concerns others.
inline constexpr std::string_view kEndsNotice = "ends";

// What PostgreSQL accepts.
inline constexpr std::size_t kNoticeBytesMax = 7999;
inline constexpr std::size_t kChannelBytesMax = 63;

}  // namespace pawl::store::pg
