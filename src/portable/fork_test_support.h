// Runs for the tests of forks, written as logs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/uuid.h"
#include "portable/fork.h"
#include "portable/run_document.h"

namespace pawl::portable {

inline const Uuid kOldRun = *Uuid::parse("a1b2c3d4-e5f6-7890-abcd-ef1234567890");
inline const Uuid kNewRun = *Uuid::parse("0f0e0d0c-0b0a-4908-8706-050403020100");
inline constexpr std::int64_t kNow = 5'000'000;

inline std::string old_id(std::string_view location) {
  return uuid5(kOldRun, location).to_string();
}
inline std::string new_id(std::string_view location) {
  return uuid5(kNewRun, location).to_string();
}

// With the id of the command at {2} for "#{2}".
inline std::string with_ids(std::string text) {
  for (std::size_t at = text.find("#{"); at != std::string::npos; at = text.find("#{")) {
    const std::size_t end = text.find('}', at) + 1;
    text.replace(at, end - at, old_id(text.substr(at + 1, end - at - 1)));
  }
  return text;
}

// `rest`: further members of the document, beginning with a comma.
inline RunDocument run_of(std::string_view status, std::string_view log,
                          std::string_view rest = "") {
  const std::string text =
      with_ids(R"({"format": "pawl-run/1", "id": "order-17", "number": 3, "runId": ")" +
               kOldRun.to_string() + R"(", "kind": "order", "status": ")" + std::string(status) +
               R"(", "startedAt": 1000, "definition": "d", "input": {"id": 17}, "log": [)" +
               std::string(log) + "]" + std::string(rest) + "}");
  Result<RunDocument> document = from_json(text);
  PAWL_CHECK(document.has_value());
  return *std::move(document);
}

inline std::vector<std::string> texts(const std::vector<Step>& steps) {
  std::vector<std::string> result;
  for (const Step& step : steps) {
    result.push_back(step_text(step));
  }
  return result;
}

inline std::vector<std::string> events(const RunDocument& document) {
  std::vector<std::string> result;
  for (const replay::Entry& entry : document.log) {
    result.emplace_back(replay::traits(entry.kind).event);
  }
  return result;
}

// "TaskCompleted 7 @0": event, what it is for, when it is due.
inline std::vector<std::string> inbox(const RunDocument& document) {
  std::vector<std::string> result;
  for (const store::StoredArrival& arrival : document.image.inbox) {
    const auto* known = replay::find_traits(static_cast<replay::EntryKind>(arrival.kind));
    result.push_back((known == nullptr ? std::string("Retry") : std::string(known->event)) + " " +
                     arrival.id + arrival.location + arrival.name + " @" +
                     std::to_string(arrival.due_ms));
  }
  return result;
}

}  // namespace pawl::portable
