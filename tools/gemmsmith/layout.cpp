// gemmsmith layout: what a layout is, what operations make of it, and how it looks.
#include <iostream>

#include "command.h"
#include "inputs.h"
#include "output/layout_steps.h"

namespace gemmsmith::cli {
namespace {

struct LayoutFlags {
  std::string text, tile, svg, evaluate;
  std::vector<ChosenStep> steps;
  bool table = false, latex = false, json = false;
};

constexpr int64_t kShownCells = 1024;  // without --table

constexpr const char* kExamples =
    "A LAYOUT is shape:stride, nested as it may be, with numbers or names; LAYOUT o Sw<3,4,3> is swizzled. A TILER is "
    "a LAYOUT,\n"
    "a SHAPE, or <4:1,8:2> with one for each mode. Operations are applied in the order in which they are given.\n"
    "\n"
    "Examples:\n"
    "  gemmsmith layout '((2,4),8):((1,2),16)'\n"
    "  gemmsmith layout '((2,4),8):((1,2),16)' --svg layout.svg\n"
    "  gemmsmith layout '(8,64):(128,2) o Sw<3,4,3>' --table\n"
    "  gemmsmith layout '(m,n):(n,1)' --zipped-divide '(64,32)' --json\n"
    "  gemmsmith layout '(8,8):(8,1)' --compose '(4,2):(2,1)' --coalesce\n"
    "  gemmsmith layout '((4,8),2):((16,1),8)' --tile '(8,8)' --svg fragment.svg    who has which element\n";

Result<std::string> picture(const LayoutFlags& flags, const SymbolicLayout& layout, bool latex_wanted,
                            bool svg_wanted) {
  if (flags.tile.empty()) return svg_wanted ? svg(layout) : latex_wanted ? latex(layout) : table(layout);
  GS_TRY(const Shape tile, parse_shape(flags.tile));
  if (svg_wanted) return thread_value_svg(layout, tile);
  return latex_wanted ? thread_value_latex(layout, tile) : thread_value_table(layout, tile);
}

int run(const LayoutFlags& flags) {
  const auto layout = apply_steps(flags.text, flags.steps);
  if (!layout) return fail(layout.error(), kUsage);
  if (!flags.evaluate.empty()) {
    const auto at = parse_shape(flags.evaluate);
    if (!at) return fail(at.error(), kUsage);
    const auto value = evaluate(*layout, *at);
    if (!value) return fail(value.error(), kUsage);
    std::cout << print(*value) << std::endl;
    return kOk;
  }
  if (!flags.svg.empty()) {
    const auto drawn = picture(flags, *layout, false, true);
    if (!drawn) return fail(drawn.error(), kUsage);
    if (flags.svg == "-") {
      std::cout << *drawn << std::flush;
      return kOk;
    }
    if (const auto written = write_file(flags.svg, *drawn); !written) return fail(written.error(), kUsage);
  }
  if (flags.json) {
    std::cout << to_json(*layout) << std::endl;
    return kOk;
  }
  if (!flags.latex) std::cout << layout_summary(*layout) << std::flush;
  const auto cells = size(layout->modes).constant();
  const bool small = flags.svg.empty() && cells && *cells <= kShownCells && layout->modes.size() <= 2;
  if (!flags.table && !flags.latex && !small) return kOk;
  const auto drawn = picture(flags, *layout, flags.latex, false);
  if (!drawn) return fail(drawn.error(), kUsage);
  std::cout << *drawn << std::flush;
  return kOk;
}

}  // namespace

void add_layout(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<LayoutFlags>();
  CLI::App* command =
      add_command(app, chosen, "layout", "Work with layouts: evaluate, compose, divide, draw", flags, run);
  command->add_option("layout", flags->text, "The layout, as ((2,4),8):((1,2),16)")->required()->type_name("LAYOUT");
  LayoutFlags* const into = flags.get();  // the command keeps it alive
  for (const LayoutStep& step : layout_steps()) {
    CLI::Option* option = nullptr;
    if (step.argument[0] == '\0')
      option = command->add_flag_function(
          step.flag, [into, &step](int64_t) { into->steps.push_back({&step, ""}); }, step.help);
    else
      option = command
                   ->add_option_function<std::string>(
                       step.flag, [into, &step](const std::string& word) { into->steps.push_back({&step, word}); },
                       step.help)
                   ->type_name(step.argument);
    option->trigger_on_parse();  // in the order of the command line
  }
  command->add_option("--evaluate", flags->evaluate, "The offset of a coordinate or an index")->type_name("COORDINATE");
  command->add_option("--tile", flags->tile, "The layout says which thread has which value of a tile of this shape")
      ->type_name("SHAPE");
  command->add_option("--svg", flags->svg, "Write a picture to a file; - is standard output")->type_name("FILE");
  command->add_flag("--table", flags->table, "Print the offsets, however many they are");
  command->add_flag("--latex", flags->latex, "Print a picture as a LaTeX document with TikZ");
  command->add_flag("--json", flags->json, "Print shape, stride, size, cosize and offsets as JSON");
  command->footer(kExamples);
}

}  // namespace gemmsmith::cli
