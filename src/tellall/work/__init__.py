"""Work: many independent pieces, in processes here or on a Dask cluster; what is finished is kept."""

from tellall.work.kept import Kept, filed_under
from tellall.work.pieces import Done, Failed, Progress, Task, Workers, run

__all__ = ["Done", "Failed", "Kept", "Progress", "Task", "Workers", "filed_under", "run"]
