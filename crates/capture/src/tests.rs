mod filter;
mod live;
mod output;
