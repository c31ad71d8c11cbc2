//! The web app

mod flows;
mod hostile;
mod measure;
mod serving;
mod stream;
mod view;
mod views;
