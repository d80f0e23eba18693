mod filter;
mod output;
mod recording;
