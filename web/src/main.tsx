import { render } from "preact";
import { App } from "./app";
import { follow } from "./live";
import { listen } from "./route";
import { rememberScroll } from "./scroll";
import { sessions } from "./store";
import "./style.css";

const place = document.getElementById("app");
if (place) {
  listen();
  follow(sessions);
  place.textContent = "";
  render(<App />, place);
  rememberScroll();
}
