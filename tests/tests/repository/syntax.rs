use crate::repository::SourceFile;
use core::ops::RangeInclusive;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;

/// The file's syntax tree.
///
/// # Panics
/// When the file is not Rust: it does not compile either.
pub(crate) fn parse(file: &SourceFile) -> syn::File {
    syn::parse_file(&file.text).unwrap_or_else(|error| {
        let line = error.span().start().line;
        panic!("{}:{line}: this is not Rust: {error}", file.path)
    })
}

/// The lines of the modules at the top level that are compiled for tests alone, attributes
/// included.
pub(crate) fn test_lines(tree: &syn::File) -> Vec<RangeInclusive<usize>> {
    let modules = tree.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) if is_for_tests(&module.attrs) => Some(module),
        _ => None,
    });
    modules
        .map(|module| module.span().start().line..=module.span().end().line)
        .collect()
}

/// Whether `#[cfg(test)]` is among the attributes, or one that asks for more than that.
pub(crate) fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<syn::Meta>()
                .is_ok_and(|condition| needs_test(&condition))
    })
}

fn needs_test(condition: &syn::Meta) -> bool {
    let syn::Meta::List(list) = condition else {
        return condition.path().is_ident("test");
    };
    let conditions = Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated;
    list.path.is_ident("all")
        && list
            .parse_args_with(conditions)
            .is_ok_and(|all| all.iter().any(needs_test))
}

#[test]
fn test_modules_are_found_with_their_attributes() {
    let text = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
    let tree = parse(&SourceFile::sample("a.rs", text));
    assert_eq!(test_lines(&tree), [3..=6]);
}

#[test]
fn conditions_that_hold_in_tests_alone_are_recognised() {
    let is_for_tests = |attribute: &str| {
        let tree = parse(&SourceFile::sample(
            "a.rs",
            &format!("{attribute}\nmod a {{}}\n"),
        ));
        !test_lines(&tree).is_empty()
    };
    assert!(is_for_tests("#[cfg(test)]"));
    assert!(is_for_tests("#[cfg(all(unix, test))]"));
    assert!(!is_for_tests("#[cfg(any(test, feature = \"testing\"))]"));
    assert!(!is_for_tests("#[cfg(not(test))]"));
    assert!(!is_for_tests("#[cfg(feature = \"test\")]"));
}
