// Reference workflows that between them use all of the SDK, with the part of the outside world in
// each: who starts it, what is sent to it, what is looked at in the end.
//
// Their results depend neither on time nor on ids, nor on how often and where the process that runs
// them has died: whatever the outside does, it may do again.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/pawl.hpp"

namespace pawl::crash {

using Handle = RunHandle<std::string>;

struct Reference {
  std::string name;                    // And the kind of its first run.
  std::string id;                      // Of its first run.
  std::vector<std::string> other_ids;  // Of the runs that it makes.
  // Starts it, or finds it.
  std::function<Handle(Engine& engine)> start;
  // What reaches it from outside; returns when it has nothing more to do.
  std::function<void(Engine& engine)> play = {};
  // After its end; part of the result.
  std::function<std::string(Engine& engine)> look = {};
  std::string expected = {};  // How it ends, and what is looked at.
  // Commands are the same, whenever the process dies.
  bool is_regular = true;
};

// In an order that does not change.
const std::vector<Reference>& references();

// Everything that the reference workflows need. `release` is 1 or 2: one workflow has changed
// between them.
Registry make_registry(int release);
EngineOptions engine_options();

// Every attempt of an activity is noted by a line "run name key attempt" at the end of this file;
// other files for the outside lie in its directory. Called once, before there is an engine.
void note_attempts_in(const std::string& path);
void note(const Activity& activity);

// How a run ended, as JSON.
std::string outcome_of(const Handle& handle);

// Waits, for a while, until it holds. Throws std::runtime_error with `what`.
void wait_until(std::string_view what, const std::function<bool()>& holds);

}  // namespace pawl::crash
