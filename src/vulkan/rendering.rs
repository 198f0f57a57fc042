//! Dynamic rendering: the attachments of a pass, and the draws in it.

use std::ops::Range;

use ash::vk;
use smallvec::SmallVec;

use super::{Buffer, Device, GraphicsPipeline, Image, PipelineLayout};

/// A colour attachment, in GENERAL, stored at the end.
#[derive(Debug, Clone, Copy)]
pub struct ColorAttachment {
    /// What is drawn into.
    pub view: vk::ImageView,
    /// What it is cleared to first; `None` where the draws cover every texel.
    pub clear: Option<[f32; 4]>,
}

/// A depth attachment, in DEPTH_ATTACHMENT_OPTIMAL, cleared first.
pub struct DepthAttachment<'a> {
    /// What is drawn into.
    pub image: &'a Image,
    /// The depth it is cleared to.
    pub clear: f32,
    /// Whether it is read after the pass.
    pub store: bool,
}

/// Triangles of a mesh in a pair of vertex and index buffers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshRange {
    /// Their indices, 32 bits each.
    pub indices: Range<u32>,
    /// Added to each index.
    pub first_vertex: i32,
}

/// A pass that is being recorded, between `vkCmdBeginRendering` and `vkCmdEndRendering`.
pub struct Rendering<'a> {
    device: &'a Device,
    commands: vk::CommandBuffer,
}

impl<'a> Rendering<'a> {
    /// Begins a pass over all of `extent`; viewport and scissor cover it.
    pub fn begin(
        device: &'a Device,
        commands: vk::CommandBuffer,
        extent: vk::Extent2D,
        colors: &[ColorAttachment],
        depth: DepthAttachment<'_>,
    ) -> Self {
        let colors: SmallVec<[_; 8]> = colors
            .iter()
            .map(|color| {
                let attachment = vk::RenderingAttachmentInfo::default()
                    .image_view(color.view)
                    .image_layout(vk::ImageLayout::GENERAL)
                    .store_op(vk::AttachmentStoreOp::STORE);
                match color.clear {
                    Some(float32) => attachment
                        .load_op(vk::AttachmentLoadOp::CLEAR)
                        .clear_value(vk::ClearValue {
                            color: vk::ClearColorValue { float32 },
                        }),
                    None => attachment.load_op(vk::AttachmentLoadOp::DONT_CARE),
                }
            })
            .collect();
        let store_op = if depth.store {
            vk::AttachmentStoreOp::STORE
        } else {
            vk::AttachmentStoreOp::DONT_CARE
        };
        let depth = vk::RenderingAttachmentInfo::default()
            .image_view(depth.image.view)
            .image_layout(vk::ImageLayout::DEPTH_ATTACHMENT_OPTIMAL)
            .load_op(vk::AttachmentLoadOp::CLEAR)
            .store_op(store_op)
            .clear_value(vk::ClearValue {
                depth_stencil: vk::ClearDepthStencilValue {
                    depth: depth.clear,
                    stencil: 0,
                },
            });
        let area = vk::Rect2D {
            offset: vk::Offset2D::default(),
            extent,
        };
        let viewport = [vk::Viewport {
            x: 0.0,
            y: 0.0,
            width: extent.width as f32,
            height: extent.height as f32,
            min_depth: 0.0,
            max_depth: 1.0,
        }];
        let info = vk::RenderingInfo::default()
            .render_area(area)
            .layer_count(1)
            .color_attachments(&colors)
            .depth_attachment(&depth);
        // SAFETY: V3; the caller's command buffer is recording outside a pass, and the attachments live as long as it
        // may run (V2).
        unsafe {
            device.raw.cmd_begin_rendering(commands, &info);
            device.raw.cmd_set_viewport(commands, 0, &viewport);
            device.raw.cmd_set_scissor(commands, 0, &[area]);
        }
        Self { device, commands }
    }

    /// Binds set 0 of the layout.
    pub fn bind_set(&self, layout: &PipelineLayout, set: vk::DescriptorSet) {
        let point = vk::PipelineBindPoint::GRAPHICS;
        // SAFETY: the command buffer records since `begin`; the caller's set is of this layout.
        unsafe {
            self.device
                .raw
                .cmd_bind_descriptor_sets(self.commands, point, layout.raw, 0, &[set], &[]);
        }
    }

    /// Binds a pipeline.
    pub fn bind_pipeline(&self, pipeline: &GraphicsPipeline) {
        let point = vk::PipelineBindPoint::GRAPHICS;
        // SAFETY: the command buffer records since `begin`; the pipeline lives as long as it may run (V2).
        unsafe { self.device.raw.cmd_bind_pipeline(self.commands, point, pipeline.raw) };
    }

    /// Binds the vertex buffer (binding 0) and the buffer of 32-bit indices.
    pub fn bind_mesh_buffers(&self, vertices: &Buffer, indices: &Buffer) {
        let raw = &self.device.raw;
        // SAFETY: the command buffer records since `begin`; the buffers live as long as it may run (V2).
        unsafe {
            raw.cmd_bind_vertex_buffers(self.commands, 0, &[vertices.raw], &[0]);
            raw.cmd_bind_index_buffer(self.commands, indices.raw, 0, vk::IndexType::UINT32);
        }
    }

    /// Draws a mesh once for each instance.
    pub fn draw_mesh(&self, mesh: &MeshRange, instances: Range<u32>) {
        // SAFETY: the command buffer records since `begin`; pipeline, set and buffers were bound by the caller, and a
        // mesh's indices stay inside its buffers by how `MeshRange` is made.
        unsafe {
            self.device.raw.cmd_draw_indexed(
                self.commands,
                mesh.indices.len() as u32,
                instances.len() as u32,
                mesh.indices.start,
                mesh.first_vertex,
                instances.start,
            );
        }
    }

    /// Draws one triangle that has no vertex buffer, to cover the whole extent.
    pub fn draw_full_screen(&self) {
        // SAFETY: the command buffer records since `begin`; the pipeline bound takes no vertex buffer.
        unsafe { self.device.raw.cmd_draw(self.commands, 3, 1, 0, 0) };
    }

    /// Ends the pass.
    pub fn end(self) {
        // SAFETY: the pass is open since `begin`.
        unsafe { self.device.raw.cmd_end_rendering(self.commands) };
    }
}
