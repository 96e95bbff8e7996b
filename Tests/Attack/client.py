#!/usr/bin/python3
"""A caller for attacks. Reads requests from standard input, and prints an answer for each: both are lines of JSON."""

import json, os, sys, time
from bus import BUS, ROUTER, Bus, BusError, Lane, NoAnswer


def run(bus, request):
    do = request["do"]
    if do == "call":
        to = request.get("to", ROUTER)
        path = request.get("path", "/org/openurl/Router1" if to == ROUTER else "/" + to.replace(".", "/"))
        return bus.call(request["interface"], request["member"], request["signature"], request["body"], to, path,
                        wait=request.get("limit", 20), fds=[os.open(name, os.O_RDONLY) for name in request.get("files", [])])
    if do == "watch":
        return bus.watch("type='signal'")
    if do == "own":
        return bus.own(request["name"])
    if do == "signals":
        found, end = [], time.monotonic() + request["seconds"]
        try:
            while True:
                message = bus.receive(max(0, end - time.monotonic()))
                if message.interface != BUS:
                    found.append([message.interface, message.member, message.body])
        except NoAnswer:
            return found
    if do == "measure":
        # The time of each call in seconds, or its error. `plain` names a service to call instead of the
        # router.
        times = []
        for _ in range(request["count"]):
            start = time.monotonic()
            try:
                if name := request.get("plain"):
                    bus.call("org.openurl.Handler1", "Open", "sa{sv}", [request["url"], {}], name, "/", wait=request["limit"])
                else:
                    bus.open(request["url"], request.get("options", {}), wait=request.get("limit", 10))
                times.append(time.monotonic() - start)
            except (BusError, NoAnswer) as error:
                times.append(str(error)[:200])
        return times
    if do == "can":
        return os.path.exists(request["file"])
    raise ValueError(do)


def main():
    bus = None
    for line in sys.stdin:
        try:
            bus = bus or (Lane() if "LANE" in os.environ else Bus())
            answer = {"ok": run(bus, json.loads(line))}
        except BusError as error:
            answer = {"error": error.name, "message": error.message}
        except (NoAnswer, OSError) as error:
            answer = {"none": str(error)}
        print(json.dumps(answer, default=repr), flush=True)


main()
