//! The web app

mod flows;
mod hostile;
mod serving;
mod stream;
mod view;
mod views;
