// What would make code fit a history that it disagrees with: found by trying. Small changes to the
// code are made up one after the other, each for the first disagreement that is left, and the run
// is rehearsed with them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/registry.hpp"
#include "replay/log.h"
#include "sdk/check.h"

namespace pawl::detail {

// A run, and the code that is to go on with it.
struct CheckCase {
  const WorkflowEntry& workflow;
  const Subject& subject;
  const replay::Log& log;  // Loaded, not finished.
  std::string_view input;
  std::size_t payload_bytes_max = 0;
};

struct Advice {
  std::string text;                  // One sentence without a dot.
  std::vector<std::string> code;     // What to write, in order.
  bool is_tried = false;             // With it, this run was rehearsed and fits,
  std::vector<std::string> assumes;  // if this comes true,
  bool compared_all = false;         // and all that is recorded was compared.
};

// Of a run that disagrees; best first. Only what was tried; nothing if no such change was found.
std::vector<Advice> find_advice(const CheckCase& checked);

Result<std::unique_ptr<Rehearsal>> rehearse(const CheckCase& checked,
                                            std::vector<CodeEdit> edits = {});

}  // namespace pawl::detail
