-- The roles of the demo. vapshadow writes rows, grafana reads the views; neither owns anything. The passwords are for
-- this demo only.
CREATE ROLE vapshadow LOGIN PASSWORD 'demo';
CREATE ROLE grafana LOGIN PASSWORD 'demo';
