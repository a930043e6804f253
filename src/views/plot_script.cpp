#include "views/plot_script.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace wq::views {

namespace {

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
}

// In gnuplot's single-quoted strings the only escape is a doubled quote.
std::string gnuplot_quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'') out += '\'';
        out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    return out + "'";
}

std::string terminal(PlotFormat format, const std::string& name) {
    switch (format) {
        case PlotFormat::png:
            return "pngcairo enhanced size 1100,620 font 'Sans,11' background rgb 'white'";
        case PlotFormat::svg:
            // The name is the document's title, otherwise "Gnuplot", and the prefix of its ids.
            return "svg enhanced size 1100,620 font 'Sans,14' background rgb 'white' name '" + name + "'";
        case PlotFormat::pdf:
            return "pdfcairo enhanced size 9in,5in font 'Sans,11' background rgb 'white'";
    }
    return {};
}

constexpr std::string_view preamble =
    "set encoding utf8\n"
    "set border 3 linecolor rgb '#555555'\n"
    "set tics nomirror out\n"
    "set grid xtics ytics linetype 1 linewidth 0.5 linecolor rgb '#DDDDDD'\n"
    "set key outside right top Left reverse samplen 2 spacing 1.25 noenhanced\n"
    "set lmargin 13\n"
    "set rmargin 26\n";

struct Bounds {
    double low = 0;
    double high = 1;
};

Bounds time_bounds(const PlotStyle& style, const Plots& plots) {
    Bounds bounds{0, plots.x.empty() ? 1 : plots.x.back()};
    if (style.range) {
        bounds.low = style.range->min;
        if (style.range->max) bounds.high = *style.range->max;
    }
    if (!(bounds.high > bounds.low)) bounds.high = bounds.low + 1;
    return bounds;
}

// Longer titles are cut off at the left edge of the picture.
constexpr std::size_t longest_caption = 56;

// Removes the middle of a long text, without splitting a UTF-8 character.
std::string shortened(const std::string& text) {
    if (text.size() <= longest_caption) return text;
    const auto inside = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
    std::size_t head = longest_caption / 2;
    std::size_t tail = text.size() - longest_caption / 2;
    while (head > 0 && inside(head)) --head;
    while (tail < text.size() && inside(tail)) ++tail;
    return text.substr(0, head) + " \xE2\x80\xA6 " + text.substr(tail);
}

// The bounds of the axis: the minimum above 0, and the maximum.
Bounds values_of(const Figure& figure) {
    Bounds bounds{std::numeric_limits<double>::infinity(), 0};
    for (const Curve& curve : figure.curves) {
        for (const double value : curve.values) {
            if (value > 0) bounds.low = std::min(bounds.low, value);
            bounds.high = std::max(bounds.high, value);
        }
    }
    for (const Bars& bars : figure.bars)
        for (const Bars::Bar& bar : bars.bars) bounds.high = std::max(bounds.high, bar.high);
    return bounds;
}

std::string named_tics(const std::vector<std::string>& names, double first) {
    std::string out;
    for (const std::string& name : names)
        out += (out.empty() ? "(" : ", ") + gnuplot_quoted(name) + " " + number(first++);
    return out + ")\n";
}

// The first row is at the top.
std::string row_axis(const Figure& figure) {
    const double rows = figure.row_names.empty() ? std::ceil(values_of(figure).high)
                                                 : static_cast<double>(figure.row_names.size());
    std::string out =
        "unset logscale\nset yrange [" + number(std::max(rows, 1.0)) + ":0]\nset format y '%.0f'\n";
    if (figure.row_names.empty()) return out + "set ytics " + (rows < 10 ? "1" : "autofreq") + "\n";
    return out + "set ytics noenhanced " + named_tics(figure.row_names, 0.5);
}

std::string y_axis(const Figure& figure, Scale scale) {
    const Bounds values = values_of(figure);
    if (figure.has_rows) return row_axis(figure);
    if (scale == Scale::linear) {
        const double high = values.high > 0 ? values.high * 1.05 : 1;
        const bool ones = figure.is_count && high < 10;
        // Starts a little below 0, so that a line along 0 is visible.
        return "unset logscale\nset yrange [" + number(high * -0.015) + ":" + number(high) + "]\nset ytics " +
               (ones ? "1" : "autofreq") + "\nset format y " + (figure.is_count ? "'%.0f'" : "'%g'") + "\n";
    }
    // Whole decades, with a count of 1 off the axis. More than 9 decades would show only noise.
    double high = values.high > 0 ? std::pow(10, std::ceil(std::log10(values.high))) : 10;
    double low = values.high > 0 ? std::pow(10, std::floor(std::log10(values.low))) : 1;
    low = std::max(low, high * 1e-9);
    if (high <= low) high = low * 10;
    if (figure.is_count) low = 0.8;
    return "set logscale y\nset yrange [" + number(low) + ":" + number(high * 1.1) +
           "]\nset ytics autofreq\nset format y " + (high > 1e5 || low < 1e-4 ? "'10^{%L}'" : "'%g'") + "\n";
}

std::string data_block(const std::vector<double>& x, const Figure& figure) {
    std::string out = "$" + figure.name + " << EOD\n";
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(x[i])) {  // a line ends at an empty one
            out += '\n';
            continue;
        }
        out += number(x[i]);
        for (const Curve& curve : figure.curves) out += ' ' + number(curve.values[i]);
        out += '\n';
    }
    return out + "EOD\n";
}

// `steps`: the style of a step curve.
std::string curve_style(const Curve& curve, std::size_t samples, std::string_view steps) {
    const std::string line = " linewidth " + number(curve.width) + " linecolor rgb '" + curve.color + "'";
    if (samples > 30 || (samples > 1 && curve.is_step))
        return std::string(curve.is_step ? steps : "lines") + line;
    // Few samples are marked by points; a single sample has no line at all.
    return "linespoints pointtype 7 pointsize 0.6" + line;
}

// The elements of a plot command.
class Elements {
  public:
    void add(const std::string& element) { text_ += (text_.empty() ? "plot " : ", \\\n     ") + element; }
    std::string command() const {
        if (!text_.empty()) return text_ + "\n";
        return "set label 1 'nothing to show: 0 throughout' at graph 0.5,0.5 center textcolor rgb '#777777'\n"
               "plot NaN notitle\nunset label 1\n";
    }

  private:
    std::string text_;
};

std::string linear_plot(const std::vector<double>& x, const Figure& figure) {
    Elements elements;
    for (std::size_t i = 0; i < figure.bars.size(); ++i)
        elements.add("$" + figure.name + "_bars" + std::to_string(i) +
                     " using (($1+$2)/2):4:1:2:3:4 with boxxyerror fillstyle solid noborder linecolor rgb '" +
                     figure.bars[i].color + "' title " + gnuplot_quoted(figure.bars[i].title));
    for (std::size_t i = 0; i < figure.curves.size() && !x.empty(); ++i) {
        const Curve& curve = figure.curves[i];
        elements.add("$" + figure.name + " using 1:" + std::to_string(i + 2) + " with " +
                     curve_style(curve, x.size(), "steps") + " title " + gnuplot_quoted(curve.title));
    }
    return elements.command();
}

std::string bar_blocks(const Figure& figure) {
    std::string out;
    for (std::size_t i = 0; i < figure.bars.size(); ++i) {
        out += "$" + figure.name + "_bars" + std::to_string(i) + " << EOD\n";
        for (const Bars::Bar& bar : figure.bars[i].bars)
            out += number(bar.left) + ' ' + number(bar.right) + ' ' + number(bar.low) + ' ' +
                   number(bar.high) + '\n';
        out += "EOD\n";
    }
    return out;
}

// Of a figure that does not show the time.
std::string own_x_axis(const Figure& figure) {
    std::string out = "set xlabel " + gnuplot_quoted(figure.x_label) + "\n";
    out += figure.x_is_log ? "set logscale x\n" : "";
    double low = figure.x.empty() ? std::numeric_limits<double>::infinity() : figure.x.front();
    double high = figure.x.empty() ? 0 : figure.x.back();
    for (const Bars& bars : figure.bars)
        for (const Bars::Bar& bar : bars.bars)
            low = std::min(low, bar.left), high = std::max(high, bar.right);
    if (!figure.ticks.empty()) {
        low = -0.5, high = static_cast<double>(figure.ticks.size()) - 0.5;
        out += "set xtics noenhanced rotate by -40 " + named_tics(figure.ticks, 0);
    } else {
        out += "set xtics norotate autofreq\n";
    }
    if (!(high > low)) low = 0, high = 1;
    return out + "set xrange [" + number(low) + ":" + number(high) + "]\n";
}

// A logarithmic axis has no 0, so a curve has gaps there. They are written as blank lines, because gnuplot
// draws across missing values, and its steps end one sample early before them.
struct Stretches {
    std::string lines;
    std::string alone;  // samples between gaps: such a short line may be less than a pixel, or invisible
};

Stretches stretches_above_zero(const std::vector<double>& x, const Curve& curve) {
    Stretches out;
    const auto is_drawn = [&](std::size_t i) { return i < x.size() && curve.values[i] > 0; };
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (!is_drawn(i)) continue;
        const bool begins = i == 0 || !is_drawn(i - 1);
        const std::string value = " " + number(curve.values[i]) + "\n";
        if (begins && !out.lines.empty()) out.lines += '\n';
        out.lines += number(x[i]) + value;
        if (curve.is_step && i + 1 < x.size() && !std::isnan(x[i + 1])) out.lines += number(x[i + 1]) + value;
        if (begins && !is_drawn(i + 1)) out.alone += number(x[i]) + value;
    }
    return out;
}

std::string log_plot(const Plots& plots, const Figure& figure) {
    std::string data;
    Elements elements;
    const auto draw = [&](const std::string& name, const std::string& lines, const std::string& how) {
        data.append(name).append(" << EOD\n").append(lines).append("EOD\n");
        elements.add(name + " using 1:2 with " + how);
    };
    for (std::size_t i = 0; i < figure.curves.size(); ++i) {
        const Curve& curve = figure.curves[i];
        const std::string name = "$" + figure.name + "_log" + std::to_string(i + 1);
        const Stretches stretches = stretches_above_zero(plots.x, curve);
        if (stretches.lines.empty()) continue;
        draw(name, stretches.lines,
             curve_style(curve, plots.x.size(), "lines") + " title " + gnuplot_quoted(curve.title));
        if (!stretches.alone.empty())
            draw(name + "_alone", stretches.alone,
                 "points pointtype 7 pointsize 0.6 linecolor rgb '" + curve.color + "' notitle");
    }
    return data + elements.command();
}

}  // namespace

const char* name_of(PlotFormat format) {
    switch (format) {
        case PlotFormat::png:
            return "png";
        case PlotFormat::svg:
            return "svg";
        case PlotFormat::pdf:
            return "pdf";
    }
    return "";
}

std::string plot_path(const PlotStyle& style, const Figure& figure, Scale scale) {
    if (!style.file.empty()) return style.file;
    return style.prefix + "." + figure.name + (scale == Scale::log ? "-log." : ".") + name_of(style.format);
}

// A logarithmic twin, if asked for, shows small values over time.
std::vector<Scale> scales_of(const PlotStyle& style, const Figure& figure) {
    if (style.log && figure.over_time()) return {Scale::linear, Scale::log};
    return {Scale::linear};
}

std::vector<std::string> plot_paths(const PlotStyle& style, const Plots& plots) {
    std::vector<std::string> paths;
    for (const Figure& figure : plots.figures)
        for (const Scale scale : scales_of(style, figure)) paths.push_back(plot_path(style, figure, scale));
    return paths;
}

std::string plot_script(const PlotStyle& style, const Plots& plots) {
    const Bounds x = time_bounds(style, plots);
    std::string out(preamble);
    out += "set xlabel " + gnuplot_quoted(std::string("time since the start (") + name_of(plots.unit) + ")") +
           "\n";
    out += "set xrange [" + number(x.low) + ":" + number(x.high) + "]\n";
    for (const Figure& figure : plots.figures) {
        const std::vector<double>& own_x = figure.over_time() ? plots.x : figure.x;
        if (!own_x.empty() || figure.over_time()) out += data_block(own_x, figure);
        out += bar_blocks(figure);
        for (const Scale scale : scales_of(style, figure)) {
            const bool is_log = scale == Scale::log;
            out += "set terminal " + terminal(style.format, figure.name + (is_log ? "_log" : "")) + "\n";
            out += "set output " + gnuplot_quoted(plot_path(style, figure, scale)) + "\n";
            out +=
                "set title " +
                gnuplot_quoted(figure.title +
                               (style.caption.empty() ? "" : " \xE2\x80\x93 " + shortened(style.caption))) +
                " noenhanced font ',13'\n";
            out += "set ylabel " + gnuplot_quoted(figure.y_label + (is_log ? ", log scale" : "")) + "\n";
            out += y_axis(figure, scale);
            if (!figure.over_time()) out += own_x_axis(figure);
            out += is_log ? log_plot(plots, figure) : linear_plot(own_x, figure);
        }
    }
    return out + "set output\n";
}

}  // namespace wq::views
