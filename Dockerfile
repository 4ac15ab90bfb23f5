# The package with its assignments and the box that grades them:
#   docker build --tag ibpcl . && docker run --rm ibpcl run
FROM python:3.13-slim

RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap \
    && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN pip install --no-cache-dir '/source[classroom]'
RUN useradd --create-home reader
USER reader
WORKDIR /home/reader
ENTRYPOINT ["ibpcl"]
