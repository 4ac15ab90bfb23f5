"""What a run was worth: accuracy and transfer (metrics), use of the network (structure), pictures
of both (figures).
"""
