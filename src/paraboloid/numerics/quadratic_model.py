"""The quadratic model y = c + b·z + ½zᵀHz as a linear model θ·φ(z) in its p = 1 + d + d(d+1)/2 coefficients.

==================  ======================  =========================================================
symbol              code                    meaning
==================  ======================  =========================================================
θ = (c, b, vech H)  ``theta``               coefficients; vech H are the H_ij with i ≤ j, (p,)
φ(z)                ``features``            (1, z, ½z_i² and z_i z_j), (p,)
G(z)                ``gradient_map``        θ ↦ ∇(θ·φ)(z) = b + Hz, (d, p)
E_a                                         basis matrices of symmetric H: E_ii = e_i e_iᵀ, E_ij = e_i e_jᵀ + e_j e_iᵀ
==================  ======================  =========================================================
"""

import functools
from typing import TypeVar

import numpy as np

from paraboloid.core import Counts, Matrix, Vector

__all__ = [
    "features",
    "gradient_map",
    "identity",
    "matrix_to_vector",
    "n_terms",
    "trace_form",
    "upper_triangle",
    "vector_to_matrix",
]

Array = TypeVar("Array", Vector, Matrix, Counts)


@functools.cache
def upper_triangle(d: int) -> tuple[Counts, Counts]:
    """Return the rows i and columns j of the entries H_ij, i ≤ j, in the order of vech H.

    >>> upper_triangle(2)
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    i, j = np.triu_indices(d)
    return _constant(i), _constant(j)


@functools.cache
def identity(d: int) -> Matrix:
    """Return the identity of this size, made once: a fit asks for it hundreds of times.

    >>> identity(1)
    array([[1.]])
    """
    return _constant(np.eye(d))


@functools.cache
def _halves(d: int) -> Vector:
    """Return ½ where i = j and 1 elsewhere, in the order of vech H."""
    i, j = upper_triangle(d)
    return _constant(np.where(i == j, 0.5, 1.0))


@functools.cache
def _entries(d: int) -> Counts:
    """Return which entry of vech H each H_ij is, shape (d, d)."""
    i, j = upper_triangle(d)
    entries = np.zeros((d, d), dtype=np.int64)
    entries[i, j] = entries[j, i] = np.arange(i.size)
    return _constant(entries)


@functools.cache
def _upper_entries(d: int) -> tuple[Counts, Vector]:
    """Return where the H_ij with i ≤ j are in a flat (d, d) matrix, and how often each occurs in it."""
    i, j = upper_triangle(d)
    return _constant(i * d + j), _constant(2 * _halves(d))


@functools.cache
def _slopes(d: int) -> tuple[Matrix, Counts, Counts]:
    """Return G(0), and where in its flat form z_j and z_i belong, in the order of vech H."""
    i, j = upper_triangle(d)
    p = n_terms(d)
    columns = d + 1 + np.arange(i.size)
    return _constant(np.eye(d, p, 1)), _constant(i * p + columns), _constant(j * p + columns)


def _constant(array: Array) -> Array:
    array.flags.writeable = False
    return array


def n_terms(d: int) -> int:
    """Return p = 1 + d + d(d+1)/2.

    >>> n_terms(2)
    6
    """
    return 1 + d + d * (d + 1) // 2


def features(points: Matrix) -> Matrix:
    """Return φ at each of the points (m, d), shape (m, p).

    >>> import numpy as np
    >>> features(np.array([[2.0, 3.0]]))
    array([[1. , 2. , 3. , 2. , 6. , 4.5]])
    """
    m, d = points.shape
    i, j = upper_triangle(d)
    phi = np.empty((n_terms(d), m))  # coefficient by coefficient: rows are taken faster than columns
    z, products = phi[1 : d + 1], phi[d + 1 :]
    phi[0] = 1.0
    z[:] = points.T
    z.take(i, 0, products, "clip")  # in place and without a buffer: large arrays cost most when they are new
    products *= z.take(j, 0)
    products *= _halves(d)[:, None]
    return phi.T


def gradient_map(z: Vector) -> Matrix:
    """Return G(z), shape (d, p): the gradient of the model at z as a linear map of its coefficients.

    >>> import numpy as np
    >>> gradient_map(np.array([2.0, 3.0])) @ np.array([9.0, 0.1, 0.2, 1.0, 0.0, 4.0])  # b + Hz
    array([ 2.1, 12.2])
    """
    i, j = upper_triangle(z.size)
    at_centre, first, second = _slopes(z.size)
    G = at_centre.copy()
    flat = G.reshape(-1)
    flat[first] = z.take(j)
    flat[second] = z.take(i)
    return G


def vector_to_matrix(h: Vector, d: int) -> Matrix:
    """Return the symmetric matrix H of its entries H_ij, i ≤ j; of columns (q, n) the matrices (d, d, n).

    >>> import numpy as np
    >>> vector_to_matrix(np.array([1.0, 2.0, 3.0]), 2)
    array([[1., 2.],
           [2., 3.]])
    """
    return h.take(_entries(d), 0)


def matrix_to_vector(S: Matrix) -> Vector:
    """Return tr(S E_a) for every a: the gradient with respect to vech H of the function whose derivative by H is S.

    >>> import numpy as np
    >>> matrix_to_vector(np.array([[1.0, 2.0], [2.0, 3.0]]))
    array([1., 4., 3.])
    """
    places, times = _upper_entries(len(S))
    return times * S.take(places)


def trace_form(C: Matrix, S: Matrix) -> Matrix:
    """Return the matrix of tr(C E_a S E_b), for symmetric C and S, symmetrised in a and b.

    >>> import numpy as np
    >>> trace_form(np.eye(2), np.eye(2)).diagonal()
    array([1., 2., 1.])
    """
    i, j = upper_triangle(C.shape[0])
    half = _halves(C.shape[0])
    # tr(C e_i e_jᵀ S e_k e_lᵀ) = C_li S_jk, over the two orders of each pair; a diagonal pair counts once.
    C_i, C_j = C.take(i, 1), C.take(j, 1)
    if C is S:  # most of a fit's time is spent here
        across = C_j.take(i, 0)
        total = C_i.take(i, 0)
        total *= C_j.take(j, 0)
        total += across * across.T
        total *= 2 * half
    else:
        S_i, S_j = S[:, i], S[:, j]
        total = C_i[i] * S_j[j] + C_j[i] * S_i[j] + C_i[j] * S_j[i] + C_j[j] * S_i[i]
        total *= half
    total *= half[:, None]
    form: Matrix = total if C is S else (total + total.T) / 2
    return form
