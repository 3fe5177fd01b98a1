//! Types and functions as text in which two crates can be compared: names without their modules,
//! no lifetimes.

use serde_json::Value;

/// The last part of a type's path.
pub(crate) fn name_of_type(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// The function of the type `this`, which it may call `Self`.
pub(crate) fn function(function: &Value, this: &str) -> String {
    let inputs = function["sig"]["inputs"].as_array().into_iter().flatten();
    let inputs: Vec<String> = inputs.map(|input| written(&input[1], this)).collect();
    let output = &function["sig"]["output"];
    let output = if output.is_null() {
        "()".to_owned()
    } else {
        written(output, this)
    };
    let header = &function["header"];
    let asynchronous = if header["is_async"] == true {
        "async "
    } else {
        ""
    };
    let constant = if header["is_const"] == true {
        "const "
    } else {
        ""
    };
    let generics = parameters(&function["generics"], this);
    format!(
        "{constant}{asynchronous}fn{generics}({}) -> {output}",
        inputs.join(", ")
    )
}

/// The types that a caller chooses, with what each has to be.
fn parameters(generics: &Value, this: &str) -> String {
    let types = generics["params"].as_array().into_iter().flatten();
    let types = types.filter_map(|one| Some((one, one["kind"].get("type")?)));
    let types = types.filter(|(_, kind)| kind["is_synthetic"] != true);
    let mut all: Vec<String> = types
        .map(|(one, kind)| {
            let name = one["name"].as_str().unwrap_or_default();
            format!("{name}: {}", bounds(&kind["bounds"], this))
        })
        .collect();
    let conditions = generics["where_predicates"]
        .as_array()
        .into_iter()
        .flatten();
    all.extend(conditions.filter_map(|one| {
        let condition = one.get("bound_predicate")?;
        let of = written(&condition["type"], this);
        Some(format!("{of}: {}", bounds(&condition["bounds"], this)))
    }));
    if all.is_empty() {
        return String::new();
    }
    format!("<{}>", all.join(", "))
}

/// The trait that is implemented, if it is one.
pub(crate) fn trait_impl(implemented: &Value, this: &str) -> Option<String> {
    implemented["path"].as_str()?;
    Some(path(implemented, this))
}

/// A type in the documentation of the type `this`.
pub(crate) fn written(of: &Value, this: &str) -> String {
    let Some((kind, inner)) = of.as_object().and_then(|of| of.iter().next()) else {
        return "_".to_owned();
    };
    let mutable = if inner["is_mutable"] == true {
        "mut "
    } else {
        ""
    };
    match kind.as_str() {
        "resolved_path" => path(inner, this),
        "generic" if inner == "Self" => name_of_type(this).to_owned(),
        "generic" | "primitive" => inner.as_str().unwrap_or_default().to_owned(),
        "borrowed_ref" => format!("&{mutable}{}", written(&inner["type"], this)),
        "raw_pointer" => format!("*{mutable}{}", written(&inner["type"], this)),
        "slice" => format!("[{}]", written(inner, this)),
        "array" => format!("[{}; {}]", written(&inner["type"], this), inner["len"]),
        "tuple" => format!("({})", list(inner, |one| written(one, this))),
        "qualified_path" => {
            let owner = written(&inner["self_type"], this);
            format!("{owner}::{}", inner["name"].as_str().unwrap_or_default())
        }
        "impl_trait" => format!("impl {}", bounds(inner, this)),
        "dyn_trait" => format!(
            "dyn {}",
            list(&inner["traits"], |one| path(&one["trait"], this))
        ),
        other => other.to_owned(),
    }
}

fn bounds(of: &Value, this: &str) -> String {
    let of = of.as_array().into_iter().flatten();
    let traits = of.filter_map(|bound| bound.get("trait_bound"));
    let names: Vec<String> = traits.map(|bound| path(&bound["trait"], this)).collect();
    names.join(" + ")
}

fn path(of: &Value, this: &str) -> String {
    let name = name_of_type(of["path"].as_str().unwrap_or_default());
    let name = if name == "Self" {
        name_of_type(this)
    } else {
        name
    };
    let arguments = &of["args"]["angle_bracketed"];
    let mut all: Vec<String> = Vec::new();
    for argument in arguments["args"].as_array().into_iter().flatten() {
        if let Some(of) = argument.get("type") {
            all.push(written(of, this));
        } else if let Some(constant) = argument.get("const") {
            all.push(constant["expr"].as_str().unwrap_or_default().to_owned());
        }
    }
    for constraint in arguments["constraints"].as_array().into_iter().flatten() {
        let equal = &constraint["binding"]["equality"]["type"];
        let name = constraint["name"].as_str().unwrap_or_default();
        all.push(format!("{name} = {}", written(equal, this)));
    }
    if all.is_empty() {
        return name.to_owned();
    }
    format!("{name}<{}>", all.join(", "))
}

fn list(of: &Value, one: impl Fn(&Value) -> String) -> String {
    let of = of.as_array().into_iter().flatten();
    of.map(one).collect::<Vec<_>>().join(", ")
}
