// The page of a crash service. It asks the JSON interface below /api/v1/ and builds elements from what it gets.
import { account, people } from "./accounts.js";
import { notify, tokens } from "./admin.js";
import { builds } from "./builds.js";
import { dump, dumps } from "./dumps.js";
import { group } from "./group.js";
import { groups } from "./groups.js";
import { listen } from "./keys.js";
import { entrance, takeFailure, takeLink } from "./login.js";
import { lacking } from "./modules.js";
import { begin, route, show } from "./router.js";
import { upload } from "./upload.js";

route({ "": groups, g: group, dumps, d: dump, builds, symbols: lacking, upload, people, account, notify, tokens }, entrance);

document.getElementById("logout").addEventListener("click", async () => {
  await fetch("/logout", { method: "POST", headers: { "X-Requested-With": "corewalk" } });
  await begin();
});

listen();
window.addEventListener("hashchange", () => { takeLink(); takeFailure(); show(); });
takeLink();
takeFailure();
begin();
