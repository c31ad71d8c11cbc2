//! The web app

mod crew;
mod flows;
mod hostile;
mod measure;
mod requests;
mod serving;
mod stream;
mod texts;
mod tools;
mod view;
mod views;
