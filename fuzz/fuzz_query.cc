// Any text as a query for runs: it is refused with a place, or means something; whatever matches
// is found by the filter that it implies, and where that is exact, nothing else is.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/require.h"
#include "view/run_query.h"

namespace {

using pawl::fuzz::require;
using pawl::store::RunFilter;
using pawl::store::RunRow;
using pawl::store::RunStatus;
using pawl::store::Tag;
using pawl::view::RunQuery;

constexpr std::int64_t kNow = 1'794'859'838'123;

struct Sample {
  RunRow row;
  std::vector<Tag> tags;
};

std::vector<Sample> make_samples() {
  std::vector<Sample> samples;
  constexpr std::array<std::string_view, 3> kNames = {"a", "b", "it's"};
  for (int i = 0; i < 48; ++i) {
    Sample sample;
    sample.row.id = kNames[static_cast<std::size_t>(i % 3)];
    sample.row.kind = kNames[static_cast<std::size_t>(i / 3 % 3)];
    sample.row.status = static_cast<RunStatus>(1 + i % 8);
    sample.row.waiting_for = i % 2 == 0 ? "" : "a";
    sample.row.is_paused = i % 5 == 0;
    sample.row.created_ms = kNow - i * 1000;
    sample.row.changed_ms = kNow - i * 500;
    if (i % 4 != 0) {
      sample.tags.push_back({"t", std::string(kNames[static_cast<std::size_t>(i % 3)])});
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

template <class List, class Value>
bool is_any_of(const List& list, const Value& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

bool passes(const RunFilter& filter, const Sample& sample) {
  const RunRow& row = sample.row;
  return is_any_of(filter.kinds, row.kind) && is_any_of(filter.statuses, row.status) &&
         std::all_of(
             filter.tags.begin(), filter.tags.end(),
             [&](const Tag& tag) { return !sample.tags.empty() && is_any_of(sample.tags, tag); }) &&
         row.created_ms >= filter.created_from_ms && row.created_ms < filter.created_to_ms &&
         row.changed_ms >= filter.changed_from_ms && row.changed_ms < filter.changed_to_ms &&
         (!filter.is_paused || *filter.is_paused == row.is_paused);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<Sample> kSamples = make_samples();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const pawl::Result<RunQuery> query = RunQuery::parse(text, kNow, {.is_utc = true});
  if (!query) {
    const std::string& message = query.error().message;
    require(message.starts_with("query, column ") || text.size() > pawl::view::kQueryBytesMax,
            "an error names the column", message);
    require(message.find('\n') == std::string::npos, "an error is one line", message);
    return 0;
  }
  const RunQuery::Implied implied = query->implied();
  for (const Sample& sample : kSamples) {
    const bool does_match = query->matches(sample.row, sample.tags);
    if (does_match) {
      require(!implied.is_nothing, "what matches something is not nothing", text);
      require(passes(implied.filter, sample), "the filter finds what matches", text);
    } else if (implied.is_exact) {
      require(!passes(implied.filter, sample), "an exact filter finds nothing else", text);
    }
    if (!query->needs_tags()) {
      require(query->matches(sample.row, {}) == does_match, "tags that are not needed are not used",
              text);
    }
  }
  return 0;
}
