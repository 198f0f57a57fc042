//! OpenGL beside CUDA and Vulkan, on one GPU. Feature `gl`.
//!
//! There are two ways, and they are two chapters of the CUDA guide:
//!
//! ```text
//! register and map (4.19.1.1)       OpenGL allocates, CUDA borrows:
//!   Buffer, Texture ──register──▶ Registered ──map──▶ Mapped: pointer │ surface, texture ──unmap──▶ Registered …
//!
//! external objects (4.19.2.1.10)    Vulkan allocates, OpenGL and CUDA import:
//!   ExportedImage, SharedMemory ──MemoryHandle──▶ ImportedTexture, ImportedBuffer    (GL_EXT_memory_object_fd)
//!   binary semaphore ──▶ BinarySemaphore     timeline ──TimelineHandle──▶ ImportedTimeline    (GL_EXT_semaphore_fd,
//!                                                                                          GL_NV_timeline_semaphore)
//! ```
//!
//! The first needs no semaphore: mapping waits for OpenGL's commands, and OpenGL's commands after unmapping wait for the
//! stream. The second is ordered by semaphores alone, and nothing is mapped from frame to frame.
//!
//! **Contexts.** All of it works on a [`Context`]: one made here without a window ([`Context::headless`]), or the program's own
//! ([`Context::current`]). A context and what was made on it stay on their thread; what needs the context makes it
//! current itself, where the context was made here.
//!
//! **Teardown.** What CUDA made of an object goes first (`Registered` unregisters before its object is deleted), then OpenGL's
//! object, then the context, which every object keeps alive.
//!
//! SAFETY comments here rely on C1 to C4 of [`crate::cuda`], and on two rules of OpenGL's:
//!
//! * **G1** The context is current on this thread: [`Context::gl`], which is asked first, sees to it.
//! * **G2** Names given to a call were made by this context and are not deleted yet: their owner, which makes the call, deletes
//!   them when it drops.

mod context;
mod egl;
mod error;
mod functions;
mod imported;
mod object;
mod registered;
mod semaphore;

// OpenGL's functions, in whose types the names of objects are.
#[doc(no_inline)]
pub use glow;

pub use context::Context;
pub use error::Error;
pub use imported::{ImportedBuffer, ImportedTexture};
pub use object::{Buffer, Resource, Texture};
pub use registered::{Access, Mapped, ReadOnly, ReadWrite, Reads, Registered, WriteDiscard, Writes};
pub use semaphore::{BinarySemaphore, ImportedTimeline, TextureLayout};
