//! Where an example draws with OpenGL: a program of two shaders, and a framebuffer that is read back.

use std::rc::Rc;

use ash::vk;
use glow::HasContext;

use crate::interop::gl::Context;

/// A program that samples one texture (binding 0) and draws into another of the same context.
pub struct Canvas {
    program: glow::Program,
    vertex_array: glow::VertexArray,
    framebuffer: glow::Framebuffer,
    opengl: Rc<Context>,
}

impl Canvas {
    /// Compiles and links the shaders.
    ///
    /// # Errors
    /// OpenGL's log, when something is wrong with them.
    pub fn new(opengl: &Rc<Context>, vertex: &str, fragment: &str) -> anyhow::Result<Self> {
        let gl = opengl.gl()?;
        // SAFETY: the context is current, and made the names.
        unsafe {
            let canvas = Self {
                program: gl.create_program().map_err(anyhow::Error::msg)?,
                vertex_array: gl.create_named_vertex_array().map_err(anyhow::Error::msg)?,
                framebuffer: gl.create_named_framebuffer().map_err(anyhow::Error::msg)?,
                opengl: Rc::clone(opengl),
            };
            for (kind, source) in [(glow::VERTEX_SHADER, vertex), (glow::FRAGMENT_SHADER, fragment)] {
                let shader = gl.create_shader(kind).map_err(anyhow::Error::msg)?;
                gl.shader_source(shader, source);
                gl.compile_shader(shader);
                gl.attach_shader(canvas.program, shader);
                // Only marked: it goes with the program.
                gl.delete_shader(shader);
                let log = gl.get_shader_info_log(shader);
                anyhow::ensure!(
                    gl.get_shader_compile_status(shader),
                    "an OpenGL shader does not compile: {log}"
                );
            }
            gl.link_program(canvas.program);
            let log = gl.get_program_info_log(canvas.program);
            anyhow::ensure!(
                gl.get_program_link_status(canvas.program),
                "an OpenGL program does not link: {log}"
            );
            Ok(canvas)
        }
    }

    /// Vertices come from `buffer`: attribute 0, four floats each.
    ///
    /// # Errors
    /// The context cannot be made current.
    pub fn take_vertices(&self, buffer: glow::Buffer) -> anyhow::Result<()> {
        let gl = self.opengl.gl()?;
        // SAFETY: the context is current, and made the names.
        unsafe {
            gl.vertex_array_vertex_buffer(self.vertex_array, 0, Some(buffer), 0, 16);
            gl.vertex_array_attrib_format_f32(self.vertex_array, 0, 4, glow::FLOAT, false, 0);
            gl.vertex_array_attrib_binding_f32(self.vertex_array, 0, 0);
            gl.enable_vertex_array_attrib(self.vertex_array, 0);
        }
        Ok(())
    }

    /// Draws triangles of as many vertices into a rectangle of `target`, counted from the bottom left; `clear` gives all of the
    /// target one colour before.
    ///
    /// # Errors
    /// The context cannot be made current.
    pub fn draw(
        &self,
        sampled: glow::Texture,
        target: glow::Texture,
        vk::Rect2D { offset, extent }: vk::Rect2D,
        clear: Option<[u8; 4]>,
        vertices: u32,
    ) -> anyhow::Result<()> {
        let (gl, framebuffer) = (self.opengl.gl()?, Some(self.framebuffer));
        // SAFETY: the context is current, and made the names.
        unsafe {
            gl.named_framebuffer_texture(framebuffer, glow::COLOR_ATTACHMENT0, Some(target), 0);
            gl.bind_framebuffer(glow::FRAMEBUFFER, framebuffer);
            gl.viewport(offset.x, offset.y, extent.width as i32, extent.height as i32);
            if let Some(color) = clear {
                let color = color.map(|value| f32::from(value) / 255.0);
                gl.clear_named_framebuffer_f32_slice(framebuffer, glow::COLOR, 0, &color);
            }
            gl.use_program(Some(self.program));
            gl.bind_vertex_array(Some(self.vertex_array));
            gl.active_texture(glow::TEXTURE0);
            gl.bind_texture(glow::TEXTURE_2D, Some(sampled));
            gl.draw_arrays(glow::TRIANGLES, 0, vertices as i32);
        }
        Ok(())
    }

    /// The pixels of the target that was drawn into last, RGBA in four bytes, the bottom row first. Waits for them.
    ///
    /// # Errors
    /// The context cannot be made current.
    pub fn read(&self, vk::Extent2D { width, height }: vk::Extent2D) -> anyhow::Result<Vec<u8>> {
        let gl = self.opengl.gl()?;
        let mut pixels = vec![0; width as usize * height as usize * 4];
        let data = glow::PixelPackData::Slice(Some(&mut pixels));
        let (width, height) = (width as i32, height as i32);
        // SAFETY: the context is current; the slice has the pixels' bytes.
        unsafe {
            gl.bind_framebuffer(glow::FRAMEBUFFER, Some(self.framebuffer));
            gl.read_pixels(0, 0, width, height, glow::RGBA, glow::UNSIGNED_BYTE, data);
        }
        Ok(pixels)
    }
}

impl Drop for Canvas {
    fn drop(&mut self) {
        if let Ok(gl) = self.opengl.gl() {
            // SAFETY: the context is current, and made the names.
            unsafe {
                gl.delete_framebuffer(self.framebuffer);
                gl.delete_vertex_array(self.vertex_array);
                gl.delete_program(self.program);
            }
        }
    }
}
