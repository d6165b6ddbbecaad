//! Picks the places that are named on the command line from four numbers.

fn main() {
    let places: Vec<u32> = std::env::args().skip(1).map(|place| place.parse().expect("a number")).collect();
    match program::pick(&[10, 20, 30, 40], &places) {
        Ok(picked) => println!("{picked:?}"),
        Err(error) => {
            println!("{error:?}");
            std::process::exit(1);
        }
    }
}
