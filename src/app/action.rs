//! What a user can ask for with one key press.

/// Something that happens once, when a key goes down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Switches the effect at this place of the chain, from 0, on or off. The chain may be shorter.
    ToggleEffect(usize),
    /// Leaves only the effect at this place on, from 0; done again, brings the others back.
    SoloEffect(usize),
    /// Shows the scene without any effect; done again, brings them back.
    BypassAll,
    /// Chooses the effect so many places later (negative: earlier) in the chain's order, which is a ring.
    ChooseEffect(i32),
    /// Switches the chosen effect on or off.
    ToggleChosen,
    /// Moves the chosen effect so many places later (negative: earlier) in the chain's order.
    MoveChosen(i32),
    /// Chooses the parameter so many places further among those of the effects that run, which are a ring.
    ChooseParameter(i32),
    /// Changes the chosen parameter by so many steps, within its range.
    ChangeParameter(i32),
    /// Gives the chosen parameter its default.
    ResetParameter,
    /// Goes so many presets further in their list, which is a ring.
    SwitchPreset(i32),
    /// Writes the chain as a preset of its own.
    SavePreset,
    /// Starts or ends a capture of timings.
    ToggleCapture,
    /// Goes so many scenes further in the list, which is a ring.
    SwitchScene(i32),
    /// Shows or hides the overlay.
    ToggleOverlay,
    /// Hides everything that is drawn over the picture; done again, brings it back.
    HideAll,
    /// Writes the frame that is shown as a picture.
    Screenshot,
    /// Fills the screen, or goes back to a window. Done by the window itself.
    ToggleFullscreen,
    /// Stops or continues the scene's time.
    Pause,
    /// Shows the next frame of a paused scene.
    StepFrame,
    /// Puts the camera where the scene began.
    ResetCamera,
    /// Prints the key table to the log. Done by the window itself.
    Help,
    /// Ends the program. Done by the window itself.
    Quit,
}
