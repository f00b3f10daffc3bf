// What the property tests share: comparing outcomes, making failing programs smaller, seeds and
// counts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <boost/json.hpp>

namespace pawl::property {

struct CompareOptions {
  bool values = true;
  bool waiting = true;
};

// What differs between two outcomes of one scenario; empty if nothing. `orphaned` is compared for
// per_kind and by_name, the location for violations, the message for failures and cancels.
// `inputDigest` and `source` of entries are not compared: they are the business of whoever writes
// the entry.
std::string difference(const boost::json::object& scenario, const boost::json::object& left,
                       const boost::json::object& right, const CompareOptions& options = {});

// An entry without the fields that are not compared.
boost::json::object comparable_entry(const boost::json::object& entry);

// The smallest valid program that it can find by deleting and unwrapping steps of `program`, for
// which `fails` is still true. `fails(program)` is true to begin with.
boost::json::array minimise_program(boost::json::array program,
                                    const std::function<bool(const boost::json::array&)>& fails);

// The same for a whole scenario, without forgotten entries: its program and its history, which is
// renumbered.
boost::json::object minimise_scenario(boost::json::object scenario,
                                      const std::function<bool(const boost::json::object&)>& fails);

// PAWL_PROPERTY_SEED, or a random one; printed once per process.
std::uint64_t base_seed();

// PAWL_PROPERTY_PROGRAMS, or `usual`.
std::uint64_t program_count(std::uint64_t usual);

// The seed of the n-th program. Program 0 of seed S is the only one that a rerun with seed S and
// one program makes.
std::uint64_t program_seed(std::uint64_t base, std::uint64_t n);

// What to set to run just this program again, for messages.
std::string rerun_hint(std::uint64_t seed);

}  // namespace pawl::property
