//! Applications in virtual time: what runs, what it measures, and that it does so twice.

mod links;
mod repeatable;
mod support;
mod ten_lines;
mod time;
