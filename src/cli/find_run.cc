#include "cli/find_run.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "cli/arguments.h"
#include "cli/closest.h"
#include "store/catalog.h"
#include "view/text.h"

namespace pawl::cli {

namespace {

constexpr std::size_t kShownChars = 100;
constexpr std::size_t kCandidatesShown = 10;
// Ids looked at for a suggestion, for each length of the beginning that they share.
constexpr std::size_t kIdsLookedAt = 200;

std::string in_quotes(std::string_view id) { return "'" + view::line_text(id, kShownChars) + "'"; }

// Ids that begin like the one that was typed: the more of it they share, the sooner they are
// looked at. Four reads at most.
Result<std::string> suggestion(store::Store& store, const std::string& id) {
  std::vector<std::string> known;
  for (const std::size_t shared : {id.size() - std::min<std::size_t>(id.size(), 2), id.size() / 2,
                                   std::size_t{1}, std::size_t{0}}) {
    const std::string prefix = id.substr(0, std::min(shared, id.size()));
    PAWL_TRY_ASSIGN(std::vector<std::string> ids,
                    store.catalog().find_ids(prefix, "", kIdsLookedAt));
    known.insert(known.end(), std::make_move_iterator(ids.begin()),
                 std::make_move_iterator(ids.end()));
    if (std::string text = did_you_mean(id, known); !text.empty()) {
      return text;
    }
  }
  return std::string();
}

Result<store::RunRow> not_found(store::Store& store, const RunName& name) {
  std::string text = "there is no run " + in_quotes(name.id);
  if (name.number != 0) {
    text += " with the number " + std::to_string(name.number);
    PAWL_TRY_ASSIGN(const auto newest, store.find_run(name.id, std::nullopt));
    if (newest) {
      return make_error(ErrorCode::kNotFound,
                        text + "; the newest one has the number " + std::to_string(newest->number));
    }
  }
  PAWL_TRY_ASSIGN(const std::string hint, suggestion(store, name.id));
  return make_error(ErrorCode::kNotFound, text + hint);
}

}  // namespace

void add_run_name(Frame& frame, CLI::App* command, RunName& name) {
  CLI::Option* id = command->add_option("id", name.id, "Id of the run")->required();
  id->type_name("ID");
  frame.set_values(id, Values::kRunIds);
  add_run_number(command, name.number);
}

void add_run_number(CLI::App* command, std::uint32_t& number) {
  command
      ->add_option("--number", number,
                   "Which of the runs that had this id, from 1 (default: the newest)")
      ->check(whole_number(std::numeric_limits<std::uint32_t>::max()))
      ->type_name("N");
}

Result<store::RunRow> find_run(store::Store& store, const RunName& name, Match match) {
  const std::optional<std::uint32_t> number =
      name.number == 0 ? std::nullopt : std::optional(name.number);
  PAWL_TRY_ASSIGN(std::optional<store::RunRow> row, store.find_run(name.id, number));
  if (row) {
    return *std::move(row);
  }
  if (match == Match::kPrefix && !name.id.empty()) {
    PAWL_TRY_ASSIGN(const std::vector<std::string> ids,
                    store.catalog().find_ids(name.id, "", kCandidatesShown + 1));
    if (ids.size() > 1 && ids.front() != name.id) {
      std::string text = in_quotes(name.id) + " is the beginning of several ids: ";
      for (std::size_t i = 0; i < ids.size() && i < kCandidatesShown; ++i) {
        text += (i == 0 ? "" : ", ") + view::line_text(ids[i], kShownChars);
      }
      return make_error(ErrorCode::kInvalidArgument,
                        text + (ids.size() > kCandidatesShown ? ", …" : ""));
    }
    if (ids.size() == 1) {
      PAWL_TRY_ASSIGN(row, store.find_run(ids.front(), number));
      if (row) {
        return *std::move(row);
      }
    }
  }
  return not_found(store, name);
}

}  // namespace pawl::cli
