#include "cli/closest.h"

#include <algorithm>
#include <utility>

#include "view/text.h"

namespace pawl::cli {

namespace {

constexpr std::size_t kShownMax = 3;
constexpr std::size_t kDistanceMax = 4;
constexpr std::size_t kShownChars = 100;
// Longer texts are not typed but copied.
constexpr std::size_t kLengthMax = 300;

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t max) {
  const std::size_t longer = std::max(a.size(), b.size());
  if (longer - std::min(a.size(), b.size()) > max || longer > kLengthMax) {
    return max + 1;
  }
  // Three rows of the table: swapping looks two rows back.
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    last[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return std::min(last[b.size()], max + 1);
}

std::vector<std::string> closest(std::string_view typed, const std::vector<std::string>& names) {
  // Of very short words everything is close.
  const std::size_t max =
      typed.size() < 2 ? 0 : std::clamp<std::size_t>(typed.size() / 3, 1, kDistanceMax);
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(typed, name, max);
    if (distance <= max) {
      found.emplace_back(distance, name);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  found.resize(std::min(found.size(), kShownMax));
  std::vector<std::string> best;
  for (auto& [distance, name] : found) {
    best.push_back(std::move(name));
  }
  return best;
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& names) {
  const std::vector<std::string> best = closest(typed, names);
  std::string text;
  for (std::size_t i = 0; i < best.size(); ++i) {
    text += i == 0 ? "; did you mean '" : i + 1 == best.size() ? "' or '" : "', '";
    text += view::line_text(best[i], kShownChars);
  }
  return text.empty() ? text : text + "'?";
}

}  // namespace pawl::cli
