// A second, deliberately naive implementation of the replay semantics, to compare the replay core
// with.
//
// It takes a scenario (docs/formats/scenario.md) and says what the workflow code does with that
// log. It shares no code with the core and prefers the obvious way everywhere: the log is a vector
// of JSON objects, every question is a scan over it, and nothing is kept in an index that could go
// out of step.
#ifndef PAWL_TESTS_ORACLE_ORACLE_H_
#define PAWL_TESTS_ORACLE_ORACLE_H_

#include <boost/json.hpp>

namespace oracle {

// The actual outcome of `scenario` in the form of its `expect`, which itself is not read. Always
// present: "outcome", "new" (whole entries), "values", "waiting", "orphaned" and "forgotten" (seqs
// that the checkpoints written in this turn move away, ascending). "result" for completed; "error"
// with "message" for failed, cancelled and violation, for the last one with the "location" of the
// recorded entry where code and history part. `scenario` must be valid. A mistake that shows only
// while it runs (a variable that was never set) throws std::invalid_argument.
boost::json::object evaluate(const boost::json::object& scenario);

}  // namespace oracle

#endif  // PAWL_TESTS_ORACLE_ORACLE_H_
