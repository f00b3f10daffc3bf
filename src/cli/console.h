// Console: where a command prints, and how: form, colours, time zone. What it prints to people has
// no control character that came from outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "view/moments.h"
#include "view/paint.h"

namespace pawl::cli {

// Options that commands share.
struct Shared {
  std::string store;  // Empty: PAWL_STORE, or kDefaultStore.
  std::string output = "table";
  bool utc = false;
  std::string time_zone = "local";
  std::string color = "auto";
};
inline constexpr std::string_view kDefaultStore = "sqlite:pawl.db";

using view::Tone;

class Console {
 public:
  // Sets the time zone of the process; the named one must be known (see is_time_zone).
  explicit Console(const Shared& shared);

  const Shared& shared() const { return shared_; }
  bool is_table() const { return shared_.output == "table"; }
  bool is_json() const { return shared_.output == "json"; }
  bool is_jsonl() const { return shared_.output == "jsonl"; }

  // To standard output. What cannot be written is noticed by can_print().
  void print(std::string_view text);
  // So that it is seen now.
  void flush();
  // A line to standard error.
  void say(std::string_view text);
  // "pawl: …" to standard error; returns the exit code.
  int tell(const Error& error);
  // False: nobody reads any more, or the disk is full. Long output may end then.
  bool can_print();
  // At the end of a command: `code`, unless something could not be printed.
  int finish(int code);

  // Somebody can be asked.
  bool is_interactive() const;
  // Standard error is seen by somebody.
  bool shows_progress() const;
  // Columns of standard output; 0: it is no terminal.
  std::size_t width() const;
  bool has_colors() const { return has_colors_; }
  std::string toned(std::string_view text, Tone tone) const {
    return view::painted(text, tone, has_colors_);
  }

  std::int64_t now_ms() const;
  // It is this time now, whatever the machine's clock says.
  void set_clock(std::int64_t now_ms);
  const view::Zone& zone() const { return zone_; }
  // With milliseconds and the zone.
  std::string moment(std::int64_t ms) const { return view::zoned_moment(ms, zone_); }
  // To the second.
  std::string brief_moment(std::int64_t ms) const { return view::brief_moment(ms, zone_); }

 private:
  void keep_reason();

  const Shared shared_;
  view::Zone zone_;
  bool has_colors_ = false;
  std::int64_t clock_offset_ms_ = 0;
  int reason_ = 0;  // Why something could not be printed, the first time.
};

bool is_time_zone(const std::string& name);

}  // namespace pawl::cli
