// What may stand where somebody has pressed the tab key. Made from the table of commands; the
// scripts for shells only hand over the words.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/frame.h"

namespace pawl::cli {

struct Candidate {
  std::string word;
  std::string description;
};

struct Completion {
  std::vector<Candidate> candidates;
  bool wants_files = false;  // The shell knows them better.
};

// Looks up what is stored: ids or kinds that begin with `prefix`, in the store of this URL (empty:
// as without --store).
using LookUp = std::function<std::vector<std::string>(Values values, const std::string& prefix,
                                                      const std::string& store)>;

// `words`: what follows the name of the program; the last one is being typed.
Completion complete(const Frame& frame, const std::vector<std::string>& words,
                    const LookUp& look_up);

// For bash, zsh or fish.
std::string completion_script(const std::string& shell);

}  // namespace pawl::cli
