//! The meshes of the studio, in one pair of buffers.

use std::sync::Arc;

use ash::vk;

use crate::scene::mesh::{Mesh, Vertex};
use crate::vulkan::{self, Buffer, Device, MeshRange};

/// A mesh of the studio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A square of side 2 that faces up.
    Floor,
    /// The broad stepped base in the middle.
    Plinth,
    /// The slim column that carries an object, 1 m high.
    Pedestal,
    /// A ball of radius 1.
    Sphere,
    /// A ball of radius 1 with few triangles.
    Bead,
    /// A trefoil of outer radius near 1.
    Trefoil,
    /// A denser knot of outer radius near 1.
    Knot,
    /// A thin ring of radius 1 around Y.
    Ring,
    /// A thinner ring of radius 1 around Y.
    Wire,
    /// A straight tube of radius 1, from -1 to 1 along Y.
    Tube,
    /// A box of half side 1 with round edges.
    Box,
    /// A cut stone of radius 1.
    Gem,
}

impl Shape {
    const ALL: [Self; 12] = [
        Self::Floor,
        Self::Plinth,
        Self::Pedestal,
        Self::Sphere,
        Self::Bead,
        Self::Trefoil,
        Self::Knot,
        Self::Ring,
        Self::Wire,
        Self::Tube,
        Self::Box,
        Self::Gem,
    ];

    fn mesh(self) -> Mesh {
        match self {
            Self::Floor => Mesh::plane(),
            Self::Plinth => Mesh::lathe(&PLINTH, 80),
            Self::Pedestal => Mesh::lathe(&PEDESTAL, 48),
            Self::Sphere => Mesh::sphere(28, 56),
            Self::Bead => Mesh::sphere(8, 12),
            Self::Trefoil => Mesh::torus_knot(2, 3, 0.17, 224, 16),
            Self::Knot => Mesh::torus_knot(3, 5, 0.085, 300, 10),
            Self::Ring => Mesh::torus(1.0, 0.022, 128, 8),
            Self::Wire => Mesh::torus(1.0, 0.009, 128, 6),
            Self::Tube => Mesh::lathe(&[[0.0, -1.0], [1.0, -1.0], [1.0, 1.0], [0.0, 1.0]], 16),
            Self::Box => Mesh::rounded_box(0.16, 4),
            Self::Gem => Mesh::gem(),
        }
    }
}

/// (radius, height) in metres; the short pieces are bevels, which catch the lamps as thin bright lines.
const PLINTH: [[f32; 2]; 12] = [
    [0.0, 0.0],
    [1.34, 0.0],
    [1.34, 0.085],
    [1.325, 0.10],
    [1.17, 0.10],
    [1.17, 0.205],
    [1.155, 0.22],
    [1.0, 0.22],
    [1.0, 0.36],
    [0.98, 0.38],
    [0.70, 0.38],
    [0.0, 0.40],
];
const PEDESTAL: [[f32; 2]; 14] = [
    [0.0, 0.0],
    [0.47, 0.0],
    [0.47, 0.055],
    [0.455, 0.07],
    [0.40, 0.07],
    [0.36, 0.10],
    [0.36, 0.86],
    [0.37, 0.88],
    [0.46, 0.91],
    [0.47, 0.925],
    [0.47, 0.985],
    [0.455, 1.0],
    [0.43, 1.0],
    [0.0, 1.0],
];

/// Vertex and index buffer with all shapes.
pub struct Shapes {
    /// Of [`Vertex`].
    pub vertices: Buffer,
    /// 32 bits each.
    pub indices: Buffer,
    ranges: Vec<MeshRange>,
}

impl Shapes {
    /// The vertex attributes: format and bytes of each.
    pub const ATTRIBUTES: [(vk::Format, u32); 3] = [
        (vk::Format::R32G32B32_SFLOAT, 12),
        (vk::Format::R32G32B32_SFLOAT, 12),
        (vk::Format::R32G32_SFLOAT, 8),
    ];

    /// Makes and uploads the meshes.
    ///
    /// # Errors
    /// No memory, or a failed call.
    pub fn new(device: &Arc<Device>) -> Result<Self, vulkan::Error> {
        let (mut vertices, mut indices, mut ranges) = (Vec::<Vertex>::new(), Vec::<u32>::new(), Vec::new());
        for shape in Shape::ALL {
            let mesh = shape.mesh();
            let first_index = indices.len() as u32;
            ranges.push(MeshRange {
                indices: first_index..first_index + mesh.indices.len() as u32,
                first_vertex: vertices.len() as i32,
            });
            vertices.extend(mesh.vertices);
            indices.extend(mesh.indices);
        }
        let (vertices, indices): (&[u8], &[u8]) = (bytemuck::cast_slice(&vertices), bytemuck::cast_slice(&indices));
        let (vertex_usage, index_usage) = (vk::BufferUsageFlags::VERTEX_BUFFER, vk::BufferUsageFlags::INDEX_BUFFER);
        Ok(Self {
            vertices: Buffer::with_data(device, vertices, vertex_usage, "studio vertices")?,
            indices: Buffer::with_data(device, indices, index_usage, "studio indices")?,
            ranges,
        })
    }

    /// Where a shape is in the buffers.
    pub fn range(&self, shape: Shape) -> &MeshRange {
        &self.ranges[shape as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_listed_in_the_order_of_their_values_and_stay_moderate() {
        for (place, shape) in Shape::ALL.into_iter().enumerate() {
            assert_eq!(shape as usize, place);
            assert!(shape.mesh().indices.len() / 3 < 16_000, "{shape:?}");
        }
    }
}
