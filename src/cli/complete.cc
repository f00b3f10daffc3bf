#include "cli/complete.h"

#include <algorithm>
#include <optional>

namespace pawl::cli {

namespace {

bool takes_value(const CLI::Option& option) { return option.get_type_size() != 0; }

const CLI::Option* find_option(const CLI::App& command, const std::string& word) {
  for (const CLI::Option* option : command.get_options()) {
    const std::vector<std::string> words = option_words(*option);
    if (std::find(words.begin(), words.end(), word) != words.end()) {
      return option;
    }
  }
  return nullptr;
}

class Completer {
 public:
  Completer(const Frame& frame, const std::vector<std::string>& words, const LookUp& look_up)
      : frame_(frame), words_(words), look_up_(look_up) {}

  Completion run() && {
    if (words_.size() <= 1) {
      commands();
    } else if (const CLI::App* command = frame_.find(words_.front())) {
      arguments(*command);
    }
    return std::move(completion_);
  }

 private:
  const std::string& current() const { return words_.back(); }

  void offer(const std::string& word, const std::string& description, const std::string& typed,
             const std::string& before = "") {
    if (word.starts_with(typed)) {
      completion_.candidates.push_back({before + word, description});
    }
  }

  void commands() {
    const std::string typed = words_.empty() ? "" : current();
    for (const CLI::App* command : frame_.commands()) {
      offer(command->get_name(), command->get_description(), typed);
    }
    if (typed.starts_with('-')) {
      options(frame_.app());
    }
  }

  void options(const CLI::App& app) {
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& word : option_words(*option)) {
        if (word.starts_with("--")) {
          offer(word, option->get_description(), current());
        }
      }
    }
  }

  void arguments(const CLI::App& command) {
    // What the words before stand for.
    std::size_t positionals = 0;
    const CLI::Option* open = nullptr;  // Its value comes next.
    bool has_marker = false;
    for (std::size_t i = 1; i + 1 < words_.size(); ++i) {
      const std::string& word = words_[i];
      if (open != nullptr) {
        note(*open, word);
        open = nullptr;
      } else if (has_marker || !word.starts_with('-') || word == "-") {
        ++positionals;
      } else if (word == "--") {
        has_marker = true;
      } else {
        const std::size_t equals = word.find('=');
        const CLI::Option* option = find_option(command, word.substr(0, equals));
        if (option != nullptr && takes_value(*option)) {
          if (equals == std::string::npos) {
            open = option;
          } else {
            note(*option, word.substr(equals + 1));
          }
        }
      }
    }
    const std::size_t equals = current().find('=');
    if (open != nullptr) {
      values(*open, current(), "");
    } else if (!has_marker && current().starts_with("--") && equals != std::string::npos) {
      if (const CLI::Option* option = find_option(command, current().substr(0, equals))) {
        values(*option, current().substr(equals + 1), current().substr(0, equals + 1));
      }
    } else if (!has_marker && current().starts_with('-')) {
      options(command);
    } else {
      positional(command, positionals);
    }
  }

  void note(const CLI::Option& option, const std::string& value) {
    const std::vector<std::string> words = option_words(option);
    if (std::find(words.begin(), words.end(), "--store") != words.end()) {
      store_ = value;
    }
  }

  void positional(const CLI::App& command, std::size_t index) {
    for (const CLI::Option* option : command.get_options()) {
      if (!option->get_positional()) {
        continue;
      }
      const bool takes_rest = option->get_expected_max() > 1;
      // A list whose words mean different things begins with what it is completed for.
      const bool is_mixed = option->get_type_name().find(' ') != std::string::npos;
      if (index == 0 || (takes_rest && !is_mixed)) {
        values(*option, current(), "");
        return;
      }
      --index;
    }
  }

  void values(const CLI::Option& option, const std::string& typed, const std::string& before) {
    for (const std::string& choice : option_choices(option)) {
      offer(choice, "", typed, before);
    }
    const Values* kind = frame_.values_of(&option);
    if (kind == nullptr) {
      return;
    }
    if (*kind == Values::kFiles) {
      completion_.wants_files = true;
      return;
    }
    for (const std::string& word : look_up_(*kind, typed, store_)) {
      offer(word, "", typed, before);
    }
  }

  const Frame& frame_;
  const std::vector<std::string>& words_;
  const LookUp& look_up_;
  std::string store_;
  Completion completion_;
};

constexpr const char* kBash = R"sh(# Completions of pawl for bash.
_pawl() {
  # bash splits words at colons and equals signs; what belongs together is put together again.
  local -a words=()
  local word glue= i
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ ${#words[@]} -gt 0 && ($word == [=:] || -n $glue) ]]; then
      words[${#words[@]}-1]+=$word
    else
      words+=("$word")
    fi
    glue=
    [[ $word == [=:] ]] && glue=1
  done
  local cur=${words[${#words[@]}-1]}
  local breaks='[=]'
  [[ $COMP_WORDBREAKS == *:* ]] && breaks='[=:]'
  local before=${cur%"${cur##*$breaks}"}
  COMPREPLY=()
  while IFS=$'\t' read -r word _; do
    if [[ $word == :files ]]; then
      compopt -o default 2>/dev/null
    else
      COMPREPLY+=("$(printf '%q' "${word#"$before"}")")
    fi
  done < <("${COMP_WORDS[0]}" __complete -- "${words[@]}" 2>/dev/null)
}
complete -F _pawl pawl
)sh";

constexpr const char* kZsh = R"sh(#compdef pawl
# Completions of pawl for zsh.
_pawl() {
  local -a described
  local line word
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      _files
      return
    fi
    word=${line%%$'\t'*}
    described+=("${word//:/\\:}:${line#*$'\t'}")
  done < <(${words[1]} __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  _describe -t values value described
}
if [[ ${funcstack[1]} == _pawl ]]; then
  _pawl "$@"
else
  compdef _pawl pawl
fi
)sh";

constexpr const char* kFish = R"sh(# Completions of pawl for fish.
function __pawl_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    test -n "$current"; or set current ''
    $words[1] __complete -- $words[2..-1] $current 2>/dev/null
end
function __pawl_wants_files
    __pawl_complete | string match -q ':files'
end
complete -c pawl -f -n 'not __pawl_wants_files' -a '(__pawl_complete)'
complete -c pawl -F -n '__pawl_wants_files'
)sh";

}  // namespace

Completion complete(const Frame& frame, const std::vector<std::string>& words,
                    const LookUp& look_up) {
  return Completer(frame, words, look_up).run();
}

std::string completion_script(const std::string& shell) {
  return shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish;
}

}  // namespace pawl::cli
