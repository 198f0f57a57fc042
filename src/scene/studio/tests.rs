//! Pictures of the studio against what geometry says they must show.

use super::*;
use crate::scene::testing::{Bench, Picture, TestTargets, frame};

fn studio(bench: &Bench, slots: &[&TestTargets]) -> Studio {
    let mut studio = Studio::new(&bench.device).unwrap();
    let targets: Vec<_> = slots.iter().map(|slot| slot.scene_targets()).collect();
    studio.retarget(&targets, slots[0].extent).unwrap();
    studio
}

#[test]
fn a_picture_for_the_eye() {
    let bench = Bench::new();
    let targets = TestTargets::new(&bench, 1280, 720);
    let mut studio = studio(&bench, &[&targets]);
    let time: f32 = std::env::var("T").map_or(2.0, |t| t.parse().unwrap());
    let start = std::time::Instant::now();
    bench.run(|c| studio.record(c, 0, &frame(1, time)));
    println!("frame {:?}", start.elapsed());
    let p: Picture = targets.render(&bench, &mut studio, 0, &frame(1, time));
    p.save(&std::env::temp_dir().join("handover-studio.png"), 1.0);
    bench.assert_valid();
}
