// pawl completion, and pawl __complete, which the scripts call
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/complete.h"
#include "cli/exit_codes.h"
#include "cli/store_access.h"
#include "store/catalog.h"
#include "view/text.h"

namespace pawl::cli {

namespace {

constexpr std::size_t kIdsMax = 100;
// Longer ones are not for typing.
constexpr std::size_t kWordBytesMax = 500;

// What a shell could not take as a word is left out; and so is everything if the store cannot be
// read: nobody wants to see an error while typing.
std::vector<std::string> look_up(const Console& console, Values values, const std::string& prefix,
                                 const std::string& url) {
  Shared shared = console.shared();
  shared.store = url;
  const auto store = open_store(shared, Access::kLook);
  if (!store) {
    return {};
  }
  std::vector<std::string> found;
  if (values == Values::kRunIds) {
    auto ids = (*store)->catalog().find_ids(prefix, "", kIdsMax);
    if (ids) {
      found = *std::move(ids);
    }
  } else {
    const auto figures = (*store)->catalog().read_figures(console.now_ms());
    std::set<std::string> kinds;
    for (std::size_t i = 0; figures && i < figures->runs.size(); ++i) {
      kinds.insert(figures->runs[i].kind);
    }
    found.assign(kinds.begin(), kinds.end());
  }
  std::erase_if(found, [](const std::string& word) {
    return word.empty() || word.size() > kWordBytesMax ||
           view::line_text(word, word.size()) != word;
  });
  return found;
}

Result<int> print_candidates(Console& console, const Frame& frame,
                             const std::vector<std::string>& words) {
  const Completion completion = complete(
      frame, words, [&console](Values values, const std::string& prefix, const std::string& store) {
        return look_up(console, values, prefix, store);
      });
  for (const Candidate& candidate : completion.candidates) {
    console.print(candidate.word +
                  (candidate.description.empty() ? "" : "\t" + candidate.description) + "\n");
  }
  if (completion.wants_files) {
    console.print(":files\n");
  }
  return kExitOk;
}

}  // namespace

void add_completion_commands(Frame& frame) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      frame.add({.name = "completion",
                 .group = kTools,
                 .summary = "Print the completions for a shell: commands, options, ids of runs.",
                 .examples = "source <(pawl completion bash)\n"
                             "pawl completion zsh > ~/.zfunc/_pawl\n"
                             "pawl completion fish > ~/.config/fish/completions/pawl.fish\n"},
                [shell](Console& console) -> Result<int> {
                  console.print(completion_script(*shell));
                  return kExitOk;
                });
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("SHELL");
  auto words = std::make_shared<std::vector<std::string>>();
  command = frame.add(
      {.name = "__complete", .group = kHidden, .summary = "", .examples = ""},
      [words, &frame](Console& console) { return print_candidates(console, frame, *words); });
  command->add_option("words", *words, "");
}

}  // namespace pawl::cli
