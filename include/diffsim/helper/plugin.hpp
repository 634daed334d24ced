/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/plugin.hpp - a plugin as a C++17 class: constructor, methods and exceptions instead of
 * tables of functions and statuses.
 *
 * Header only, not part of the binary interface. A whole environment:
 *
 *     #include <diffsim/helper/plugin.hpp>
 *
 *     class spring {
 *       public:
 *         explicit spring(diffsim::reader &in) : stiffness_(in.real("stiffness")) {}
 *         void info(ds_env_info &out) { out.n = 1; }
 *         void bounds(uint64_t, double *lower, double *upper, double *x0)
 *         {
 *             *lower = -1, *upper = 1, *x0 = 0.5;
 *         }
 *         void evaluate(ds_eval &io)
 *         {
 *             io.loss = 0.5 * stiffness_ * io.x[0] * io.x[0];
 *             if (io.want & DS_WANT_GRAD) {
 *                 io.grad[0] = stiffness_ * io.x[0];
 *                 io.grad_kind = DS_GRAD_ADJOINT;
 *             }
 *         }
 *
 *       private:
 *         double stiffness_;
 *     };
 *
 *     static constexpr diffsim::schema params{
 *         diffsim::real("stiffness", "2", 0, 10, "N/m", "Of the spring.")};
 *     static constexpr auto about = diffsim::environment("spring", "1", "Apache-2.0", "Energy of a spring.")
 *                                       .params(params).flags(DS_ENV_GRADIENT);
 *     DS_DEFINE_ENV(about.desc, spring)
 *
 * A whole optimizer:
 *
 *     #include <diffsim/helper/plugin.hpp>
 *
 *     class corners {
 *       public:
 *         corners(diffsim::reader &, const ds_problem &problem) : problem_(problem) {}
 *         void run(diffsim::objective &objective)
 *         {
 *             objective.loss(problem_.lower);
 *             objective.loss(problem_.upper);
 *         }
 *
 *       private:
 *         const ds_problem &problem_;
 *     };
 *
 *     static constexpr auto about = diffsim::optimizer("corners", "1", "Apache-2.0", "Two points.");
 *     DS_DEFINE_OPTIMIZER(about.desc, corners)
 *
 * No exception crosses the interface: the host gets the what() of an exception that a constructor or method
 * throws, and a status (diffsim::failure has its own, std::bad_alloc is DS_E_NOMEM, all else DS_E_GENERIC). A
 * destructor must not throw. Everything here is [instance], as in env.h and optimizer.h.
 *
 * The standard library marks its templates as visible, so that -fvisibility=hidden does not hide them: link
 * with a version script, see docs/plugin-cpp.md.
 */
#ifndef DIFFSIM_HELPER_PLUGIN_HPP
#define DIFFSIM_HELPER_PLUGIN_HPP

#include <diffsim/diffsim.h>
#include <diffsim/ext/channel.h>
#include <diffsim/ext/draft/files.h>
#include <diffsim/helper/eval.h>

#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace diffsim
{

/* ---- what a plugin says about itself ---- */

/* A parameter, as the macros of plugin.h make it: name, default as a user would write it, range, unit, one or
 * two sentences, flags DS_PARAM_*. */
constexpr ds_param parameter(uint32_t type, const char *name, const char *def, double min, double max,
                             const char *unit, const char *doc, uint32_t flags)
{
    ds_param p{};
    p.struct_size = sizeof p;
    p.type = type;
    p.flags = flags;
    p.min = min;
    p.max = max;
    p.name = name;
    p.default_text = def;
    p.unit = unit;
    p.doc = doc;
    return p;
}

constexpr ds_param real(const char *name, const char *def, double min, double max, const char *unit,
                        const char *doc, uint32_t flags = 0)
{
    return parameter(DS_PARAM_REAL, name, def, min, max, unit, doc, flags);
}

constexpr ds_param integer(const char *name, const char *def, double min, double max, const char *unit,
                           const char *doc, uint32_t flags = 0)
{
    return parameter(DS_PARAM_INT, name, def, min, max, unit, doc, flags);
}

constexpr ds_param boolean(const char *name, const char *def, const char *doc, uint32_t flags = 0)
{
    return parameter(DS_PARAM_BOOL, name, def, 0, 1, "", doc, flags);
}

/* One of `choices`, a static array of texts that ends with nullptr. */
constexpr ds_param choice(const char *name, const char *def, const char *const *choices, const char *doc,
                          uint32_t flags = 0)
{
    ds_param p = parameter(DS_PARAM_ENUM, name, def, 0, 0, "", doc, flags);
    p.choices = choices;
    return p;
}

constexpr ds_param text(const char *name, const char *def, const char *doc, uint32_t flags = 0)
{
    return parameter(DS_PARAM_TEXT, name, def, 0, 0, "", doc, flags);
}

/* A file that can be read; "" = none. */
constexpr ds_param path(const char *name, const char *def, const char *doc, uint32_t flags = 0)
{
    return parameter(DS_PARAM_PATH, name, def, 0, 0, "", doc, flags);
}

/* Numbers, at most max_count of them (0 = no limit). */
constexpr ds_param list(const char *name, const char *def, double min, double max, uint32_t max_count,
                        const char *unit, const char *doc, uint32_t flags = 0)
{
    ds_param p = parameter(DS_PARAM_LIST, name, def, min, max, unit, doc, flags);
    p.max_count = max_count;
    return p;
}

/* A .npy or .txt file that the host reads; "" = none. */
constexpr ds_param array(const char *name, const char *def, const char *doc, uint32_t flags = 0)
{
    const double most = std::numeric_limits<double>::infinity();
    return parameter(DS_PARAM_ARRAY, name, def, -most, most, "", doc, flags);
}

/* The parameters of a plugin, in the order shown to users. A static constant: it points into itself. */
template <std::size_t N> struct schema {
    ds_param param[N];
    const ds_param *pointer[N + 1];

    template <class... P> constexpr explicit schema(const P &...p) : param{p...}, pointer{}
    {
        for (std::size_t i = 0; i < N; i++) {
            pointer[i] = &param[i];
        }
    }
    schema(const schema &) = delete;
    schema &operator=(const schema &) = delete;
};
template <class... P> schema(const P &...) -> schema<sizeof...(P)>;

/* A descriptor, field by field. Lists are static arrays of ids that end with nullptr. */
struct descriptor {
    ds_desc desc;

    constexpr descriptor(uint32_t kind, const char *id, const char *version, const char *license,
                         const char *summary)
        : desc{}
    {
        desc.struct_size = sizeof desc;
        desc.kind = kind;
        desc.id = id;
        desc.version = version;
        desc.license = license;
        desc.summary = summary;
        desc.description = "";
        desc.citation = "";
    }
    template <std::size_t N> constexpr descriptor params(const schema<N> &s) const
    {
        descriptor d = *this;
        d.desc.params = s.pointer;
        return d;
    }
    /* DS_ENV_* or DS_OPT_* */
    constexpr descriptor flags(uint64_t bits) const
    {
        descriptor d = *this;
        d.desc.flags = bits;
        return d;
    }
    /* Paragraphs, and the paper that it implements. */
    constexpr descriptor texts(const char *description, const char *citation) const
    {
        descriptor d = *this;
        d.desc.description = description;
        d.desc.citation = citation;
        return d;
    }
    constexpr descriptor extensions(const char *const *ids) const
    {
        descriptor d = *this;
        d.desc.extensions = ids;
        return d;
    }
    constexpr descriptor needs(const char *const *ids) const
    {
        descriptor d = *this;
        d.desc.needs = ids;
        return d;
    }
    constexpr descriptor uses(const char *const *ids) const
    {
        descriptor d = *this;
        d.desc.uses = ids;
        return d;
    }
};

constexpr descriptor environment(const char *id, const char *version, const char *license,
                                 const char *summary)
{
    return descriptor(DS_KIND_ENV, id, version, license, summary);
}

constexpr descriptor optimizer(const char *id, const char *version, const char *license, const char *summary)
{
    return descriptor(DS_KIND_OPTIMIZER, id, version, license, summary);
}

/* ---- errors ---- */

/* Thrown by a plugin that gives up: what, which value, what is allowed, what to do, in one line. */
class failure : public std::runtime_error
{
  public:
    failure(ds_status why, const std::string &line) : std::runtime_error(line), status(why)
    {
    }
    const ds_status status; /* negative */
};

/* Thrown where a call is to be left at once with a status that needs no words: DS_STOPPED, or an error that
 * the host has told already. */
struct leave {
    ds_status status;
};

/* Calls f(); what it throws is told to the host. Used by the functions below. */
template <class F> ds_status guarded(const ds_host *host, F &&f) noexcept
{
    ds_status status = DS_E_GENERIC;
    try {
        f();
        return DS_OK;
    } catch (const leave &l) {
        return l.status;
    } catch (const failure &e) {
        status = e.status < 0 ? e.status : DS_E_GENERIC;
        host->error(host, status, e.what());
    } catch (const std::bad_alloc &) {
        status = DS_E_NOMEM;
        host->error(host, status, "out of memory");
    } catch (const std::exception &e) {
        host->error(host, status, e.what());
    } catch (...) {
        host->error(host, status, "an exception that is no std::exception");
    }
    return status;
}

/* ---- parameters ---- */

/* Values of a list or an array. They belong to the host and stay valid until the instance is destroyed. */
struct values {
    const double *data;
    uint64_t size;
    std::vector<uint64_t> shape; /* of an array */

    const double *begin() const
    {
        return data;
    }
    const double *end() const
    {
        return data + size;
    }
    double operator[](uint64_t i) const
    {
        return data[i];
    }
};

/* Reads the parameters of an instance in its constructor. Throws a failure where the schema does not declare
 * a name, or declares another type. */
class reader
{
  public:
    const ds_host *const host; /* may be kept: valid until the instance is destroyed */

    explicit reader(const ds_host *h) : host(h)
    {
    }
    double real(const char *name) const
    {
        double value = 0;
        return answered(name, host->get_real(host, name, &value)), value;
    }
    /* Of a choice its index. */
    int64_t integer(const char *name) const
    {
        int64_t value = 0;
        return answered(name, host->get_int(host, name, &value)), value;
    }
    bool boolean(const char *name) const
    {
        return integer(name) != 0;
    }
    /* Of a choice its name; the host keeps it until the instance is destroyed. */
    const char *text(const char *name) const
    {
        const char *value = "";
        return answered(name, host->get_text(host, name, &value)), value;
    }
    values list(const char *name) const
    {
        values v{nullptr, 0, {}};
        return answered(name, host->get_list(host, name, &v.data, &v.size)), v;
    }
    values array(const char *name) const
    {
        values v{nullptr, 0, {}};
        uint64_t ndim = 0, shape[8] = {0};
        answered(name, host->get_array(host, name, &v.data, &ndim, shape));
        v.shape.assign(shape, shape + ndim);
        v.size = ndim > 0 ? 1 : 0;
        for (uint64_t i = 0; i < ndim; i++) {
            v.size *= shape[i];
        }
        return v;
    }
    /* Absolute path of a file that is installed beside the plugin. */
    std::string resource(const char *relative) const
    {
        uint64_t needed = 0;
        const ds_status status = host->resource(host, relative, nullptr, 0, &needed);
        if (status != DS_E_ARG || needed == 0) {
            throw failure(DS_E_IO, std::string("no file '") + relative + "' beside the plugin");
        }
        std::string found(needed, '\0');
        host->resource(host, relative, &found[0], needed, nullptr);
        found.resize(needed - 1);
        return found;
    }

  private:
    static void answered(const char *name, ds_status status)
    {
        if (status != DS_OK) {
            throw failure(status, std::string("parameter '") + name + "' cannot be read");
        }
    }
};

/* ---- channels (diffsim/ext/channel.h) ---- */

/* A channel of an environment: role DS_CHANNEL_*, operations DS_CAN(DS_QUERY_VALUE) | ..., shape. A class
 * with channels has a method `std::vector<ds_channel> channels()`, lists DS_EXT_CHANNELS in its descriptor,
 * and answers the queries of a row in evaluate(), see for_each_query(). */
inline ds_channel channel(const char *name, uint32_t role, uint32_t ops, const std::vector<uint64_t> &shape,
                          const char *unit, const char *doc, uint32_t type = DS_TYPE_F64)
{
    const double most = std::numeric_limits<double>::infinity();
    ds_channel c{};
    if (shape.size() > 8) {
        throw failure(DS_E_GENERIC, std::string("channel '") + name + "': more than 8 dimensions");
    }
    c.struct_size = sizeof c;
    c.role = role;
    c.type = type;
    c.ops = ops;
    c.lower = -most;
    c.upper = most;
    c.name = name;
    c.unit = unit;
    c.doc = doc;
    for (uint64_t size : shape) {
        c.shape[c.ndim++] = size;
    }
    return c;
}

/* A constraint: every element should lie in [lower, upper]. */
inline ds_channel constraint(const char *name, uint32_t ops, const std::vector<uint64_t> &shape, double lower,
                             double upper, const char *unit, const char *doc)
{
    ds_channel c = channel(name, DS_CHANNEL_CONSTRAINT, ops, shape, unit, doc);
    c.lower = lower;
    c.upper = upper;
    return c;
}

/* Calls f(ds_eval_query &) for each query of a row. */
template <class F> void for_each_query(const ds_eval &io, F &&f)
{
    for (uint64_t i = 0; i < io.queries; i++) {
        f(*io.query[i]);
    }
}

/* ---- requests of an optimizer ---- */

/* A table of rows that owns its memory. A failed row has the loss +infinity and zeros for all else. */
class batch
{
  public:
    batch(uint64_t count, uint64_t n, bool gradient = false)
        : x_(count * n), loss_(count), grad_(gradient ? count * n : 0), outcome_(count), table_{}, results_{},
          label_{}
    {
        table_.struct_size = sizeof table_;
        table_.want = gradient ? DS_WANT_GRAD : 0;
        table_.count = count;
        table_.n = table_.stride = n;
        table_.x = x_.data();
        results_.struct_size = sizeof results_;
        results_.stride = n;
        results_.loss = loss_.data();
        results_.grad = gradient ? grad_.data() : nullptr;
        results_.outcome = outcome_.data();
        label_.struct_size = sizeof label_;
    }
    batch(const batch &) = delete;
    batch &operator=(const batch &) = delete;
    double *x(uint64_t row)
    {
        return &x_[row * table_.n];
    }
    double loss(uint64_t row) const
    {
        return loss_[row];
    }
    const double *grad(uint64_t row) const
    {
        return &grad_[row * table_.n];
    }
    uint32_t outcome(uint64_t row) const
    {
        return outcome_[row];
    }
    uint64_t count() const
    {
        return table_.count;
    }
    /* The structs of the interface: for queries, their replies and further results. */
    ds_rows &table()
    {
        return table_;
    }
    ds_results &results()
    {
        return results_;
    }
    /* For tag, group and noise. */
    ds_label &label()
    {
        return label_;
    }

  private:
    std::vector<double> x_, loss_, grad_;
    std::vector<uint32_t> outcome_;
    ds_rows table_;
    ds_results results_;
    ds_label label_;
};

/* The objective in run(). Where the run is over, its functions leave run() by an exception: there is no
 * status to check. */
class objective
{
  public:
    const ds_objective *const plain;

    objective(const ds_objective *o, uint64_t n) : plain(o), n_(n)
    {
    }
    void evaluate(const ds_rows &rows, const ds_results &results, const ds_label *label = nullptr)
    {
        uint64_t done = 0;
        const ds_status status = plain->evaluate(plain, &rows, label, &results, &done);
        if (status != DS_OK) {
            throw leave{status};
        }
    }
    void evaluate(batch &b)
    {
        evaluate(b.table(), b.results(), &b.label());
    }
    /* One point of n values, with its gradient where `grad` is given. */
    double loss(const double *x, double *grad = nullptr)
    {
        double value = 0;
        ds_rows rows{};
        rows.struct_size = sizeof rows;
        rows.want = grad != nullptr ? DS_WANT_GRAD : 0;
        rows.count = 1;
        rows.n = rows.stride = n_;
        rows.x = x;
        ds_results results{};
        results.struct_size = sizeof results;
        results.stride = n_;
        results.loss = &value;
        results.grad = grad;
        evaluate(rows, results);
        return value;
    }
    /* Saves a file in the folder of the run (diffsim/ext/draft/files.h), in place of an earlier one of that
     * name; false where there is no folder. Save whenever the search has improved: the end of a run leaves
     * run(). */
    bool save(const char *name, const void *data, uint64_t bytes)
    {
        const auto *files = extension<ds_objective_files>(DS_EXT_FILES);
        const ds_status status = files != nullptr ? files->save(plain, name, data, bytes) : DS_OK;
        if (status != DS_OK) {
            throw leave{status};
        }
        return files != nullptr;
    }
    /* The table of an extension; nullptr where the host does not offer it. */
    template <class Table> const Table *extension(const char *id) const
    {
        return static_cast<const Table *>(plain->get_extension(plain, id));
    }

  private:
    uint64_t n_; // variables
};

/* ---- from a class to the tables of the interface ---- */

namespace detail
{

template <class T, class = void> struct has_channels : std::false_type {
};
template <class T>
struct has_channels<T, std::void_t<decltype(std::declval<T &>().channels())>> : std::true_type {
};
template <class T, class = void> struct has_extension : std::false_type {
};
template <class T>
struct has_extension<T, std::void_t<decltype(std::declval<T &>().extension(""))>> : std::true_type {
};

/* An instance. */
template <class T> struct instance {
    const ds_host *host;
    uint64_t n; // variables, of an optimizer
    T object;
    std::vector<ds_channel> channels;

    template <class... A>
    explicit instance(const ds_host *h, uint64_t variables, A &&...a)
        : host(h), n(variables), object(std::forward<A>(a)...), channels()
    {
        if constexpr (has_channels<T>::value) {
            channels = object.channels();
        }
    }
};

template <class T> instance<T> &of(void *self)
{
    return *static_cast<instance<T> *>(self);
}

template <class T> void DS_CALL destroy(void *self)
{
    delete static_cast<instance<T> *>(self);
}

template <class T> ds_status DS_CALL count_channels(void *self, uint64_t *count)
{
    *count = of<T>(self).channels.size();
    return DS_OK;
}

template <class T> ds_status DS_CALL describe_channel(void *self, uint64_t i, ds_channel *out)
{
    const ds_channel *c = &of<T>(self).channels.at(i);
    const uint32_t room = out->struct_size;
    std::memcpy(static_cast<void *>(out), c, room < sizeof *c ? room : sizeof *c);
    out->struct_size = room;
    return DS_OK;
}

template <class T> const void *DS_CALL extension(void *self, const char *id)
{
    const void *table = nullptr;
    if constexpr (has_channels<T>::value) {
        static constexpr ds_env_channels channels = [] {
            ds_env_channels t{};
            t.struct_size = sizeof t;
            t.count = count_channels<T>;
            t.describe = describe_channel<T>;
            return t;
        }();
        table = std::strcmp(id, DS_EXT_CHANNELS) == 0 ? &channels : nullptr;
    }
    if constexpr (has_extension<T>::value) {
        guarded(of<T>(self).host,
                [&] { table = table != nullptr ? table : of<T>(self).object.extension(id); });
    }
    (void)self;
    (void)id;
    return table;
}

template <class T> ds_status DS_CALL create_env(const ds_host *host, void **out)
{
    return guarded(host, [&] {
        reader in(host);
        *out = new instance<T>(host, 0, in);
    });
}

template <class T> ds_status DS_CALL info(void *self, ds_env_info *out)
{
    out->steps = 1;
    out->loss_floor = -std::numeric_limits<double>::infinity();
    return guarded(of<T>(self).host, [&] { of<T>(self).object.info(*out); });
}

template <class T> ds_status DS_CALL bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    return guarded(of<T>(self).host, [&] {
        std::vector<double> unwanted(x0 == nullptr ? n : 0);
        of<T>(self).object.bounds(n, lower, upper, x0 != nullptr ? x0 : unwanted.data());
    });
}

/* A loss that is not finite means that the simulation diverged, a gradient that is not finite that there is
 * none. */
inline void judge(ds_eval *io)
{
    if (io->outcome == DS_EVAL_OK && !std::isfinite(io->loss)) {
        io->outcome = DS_EVAL_DIVERGED;
    }
    for (uint64_t i = 0; io->outcome == DS_EVAL_OK && (io->want & DS_WANT_GRAD) != 0 && i < io->n; i++) {
        io->outcome =
            io->grad_kind == DS_GRAD_NONE || std::isfinite(io->grad[i]) ? DS_EVAL_OK : DS_EVAL_BAD_GRAD;
    }
    if (io->outcome != DS_EVAL_OK && io->outcome != DS_EVAL_BAD_GRAD) {
        io->loss = std::numeric_limits<double>::infinity();
    }
}

template <class T> ds_status evaluate_row(void *self, ds_eval *io)
{
    io->cost_steps = 1;
    return guarded(of<T>(self).host, [&] {
        of<T>(self).object.evaluate(*io);
        judge(io);
    });
}

template <class T> ds_status DS_CALL evaluate(void *self, const ds_rows *rows, const ds_results *results)
{
    return ds_eval_each(self, rows, results, evaluate_row<T>);
}

template <class T>
ds_status DS_CALL create_optimizer(const ds_host *host, const ds_problem *problem, void **out)
{
    return guarded(host, [&] {
        reader in(host);
        *out = new instance<T>(host, problem->n, in, *problem);
    });
}

template <class T> ds_status DS_CALL run(void *self, const ds_objective *plain)
{
    return guarded(of<T>(self).host, [&] {
        objective o(plain, of<T>(self).n);
        of<T>(self).object.run(o);
    });
}

template <class T> constexpr ds_env_vtable env_vtable()
{
    ds_env_vtable t{};
    t.struct_size = sizeof t;
    t.create = create_env<T>;
    t.destroy = destroy<T>;
    t.info = info<T>;
    t.bounds = bounds<T>;
    t.evaluate = evaluate<T>;
    t.get_extension = extension<T>;
    return t;
}

template <class T> constexpr ds_optimizer_vtable optimizer_vtable()
{
    ds_optimizer_vtable t{};
    t.struct_size = sizeof t;
    t.create = create_optimizer<T>;
    t.destroy = destroy<T>;
    t.run = run<T>;
    t.get_extension = extension<T>;
    return t;
}

constexpr ds_plugin plugin(const ds_desc *desc, const ds_env_vtable *env,
                           const ds_optimizer_vtable *optimizer)
{
    ds_plugin p{};
    p.magic = DS_MAGIC;
    p.struct_size = sizeof p;
    p.abi_major = DS_ABI_MAJOR;
    p.abi_minor = DS_ABI_MINOR;
    p.layout = DS_LAYOUT;
    p.build = __VERSION__;
    p.desc = desc;
    p.env = env;
    p.optimizer = optimizer;
    return p;
}

} // namespace detail
} // namespace diffsim

/* Defines ds_plugin_query(); use one of them once, at the end of the file. A class of an environment has
 *     explicit T(diffsim::reader &)
 *     void info(ds_env_info &)                              sets n at least; steps is 1, loss_floor -infinity
 *     void bounds(uint64_t n, double *lower, double *upper, double *x0)     none of them nullptr
 *     void evaluate(ds_eval &)      one row: sets loss, where wanted grad with grad_kind
 *     std::vector<ds_channel> channels()                    may be left out; asked once
 *     const void *extension(const char *id)                 may be left out; for all other extensions
 * and that of an optimizer
 *     T(diffsim::reader &, const ds_problem &)              the problem may be kept as a reference
 *     void run(diffsim::objective &)
 *     const void *extension(const char *id)                 may be left out */
#define DS_DEFINE_PLUGIN_(desc_, env_, optimizer_)                                                           \
    extern "C" DS_EXPORT const ds_plugin *DS_CALL ds_plugin_query(uint32_t, uint32_t)                        \
    {                                                                                                        \
        static constexpr ds_plugin plugin = ::diffsim::detail::plugin(&(desc_), env_, optimizer_);           \
        return &plugin;                                                                                      \
    }
#define DS_DEFINE_ENV(desc_, class_)                                                                         \
    static constexpr ds_env_vtable ds_vtable_ = ::diffsim::detail::env_vtable<class_>();                     \
    DS_DEFINE_PLUGIN_(desc_, &ds_vtable_, nullptr)
#define DS_DEFINE_OPTIMIZER(desc_, class_)                                                                   \
    static constexpr ds_optimizer_vtable ds_vtable_ = ::diffsim::detail::optimizer_vtable<class_>();         \
    DS_DEFINE_PLUGIN_(desc_, nullptr, &ds_vtable_)

#endif
