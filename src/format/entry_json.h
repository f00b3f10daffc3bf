// One entry of a log in its JSON form, in and out: nothing is lost. See docs/formats/scenario.md.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/fwd.hpp>

#include "base/result.h"
#include "replay/entry.h"

namespace pawl::format {

// Its payload is an input, the digest of which is kept.
bool takes_input(replay::EntryKind kind);

// All of its fields, but for those that are empty and would be read as such.
boost::json::object entry_to_json(const replay::Entry& entry);

// Reads entries one by one. Not copyable: `entry` has views of what it owns.
class EntryReader {
 public:
  EntryReader() = default;
  EntryReader(const EntryReader&) = delete;
  EntryReader& operator=(const EntryReader&) = delete;

  // Fills in `entry` and what was given. `path` names the entry in errors.
  Result<void> read(const boost::json::value& value, const std::string& path);

  // The path of one of its fields.
  std::string at(std::string_view field) const { return path_ + "." + std::string(field); }
  const std::string& path() const { return path_; }
  void set_location(std::string text);
  void set_id(std::string text);

  replay::Entry entry;  // Valid until the next read.
  bool has_seq = false;
  bool has_time = false;
  bool has_digest = false;

 private:
  void clear(replay::EntryKind kind);
  Result<void> read_field(std::string_view key, const boost::json::value& value);
  Result<void> read_number(std::string_view key, const boost::json::value& value);
  Result<void> read_checkpoint(const boost::json::object& object);
  Result<void> read_changes(const boost::json::object& object);
  void set_views();

  std::string path_;
  std::string location_;
  std::string id_;
  std::string name_;
  std::string child_kind_;
  std::string step_key_;
  std::string source_;
  std::string payload_;
  std::string extra_;
  replay::Checkpoint checkpoint_;
};

}  // namespace pawl::format
